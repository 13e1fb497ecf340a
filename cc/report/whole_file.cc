#include "cc/report/whole_file.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <cstring>

namespace gmlake {
namespace {

Status CannotWrite(const std::string& path, const std::string& why) {
  return Status(StatusCode::kInvalidArgument, path + ": cannot be written: " + why);
}

// A new file beside another one. Invariant: it is removed unless it was kept, i.e. took the other's place.
class TemporaryFile {
 public:
  explicit TemporaryFile(const std::string& path) : name_(NameBeside(path)) {
    handle_ = open(name_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
    exists_ = handle_ >= 0;
  }
  ~TemporaryFile() {
    if (handle_ >= 0) close(handle_);
    if (exists_) unlink(name_.c_str());
  }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;

  // The following return false where they fail; errno says why.
  bool exists() const { return exists_; }

  bool Write(const std::string& content) {
    size_t done = 0;
    while (done < content.size()) {
      const ssize_t written = write(handle_, content.data() + done, content.size() - done);
      if (written < 0 && errno != EINTR) return false;
      if (written > 0) done += static_cast<size_t>(written);
    }
    const int handle = handle_;
    handle_ = -1;
    return close(handle) == 0;
  }

  bool TakePlaceOf(const std::string& path) {
    if (std::rename(name_.c_str(), path.c_str()) != 0) return false;
    exists_ = false;
    return true;
  }

 private:
  static std::string NameBeside(const std::string& path) {
    uint64_t number = 0;
    if (getrandom(&number, sizeof number, 0) != sizeof number) number = static_cast<uint64_t>(getpid());
    char name[32];
    std::snprintf(name, sizeof name, ".gmlake-%016" PRIx64, number);
    const size_t slash = path.rfind('/');
    return (slash == std::string::npos ? "" : path.substr(0, slash + 1)) + name;
  }

  std::string name_;
  int handle_;
  bool exists_;
};

bool IsOtherThanFile(const std::string& path) {
  struct stat facts;
  return stat(path.c_str(), &facts) == 0 && !S_ISREG(facts.st_mode);
}

}  // namespace

Status WriteWholeFile(const std::string& path, const std::string& content) {
  if (IsOtherThanFile(path)) return CannotWrite(path, "it is there, and is not a file");
  TemporaryFile file(path);
  if (file.exists() && file.Write(content) && file.TakePlaceOf(path)) return OkStatus();
  return CannotWrite(path, std::strerror(errno));
}

}  // namespace gmlake
