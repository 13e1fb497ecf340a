#include "cc/emulator/memory/shared_use.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>

#include "cc/emulator/calls/log.h"

namespace gmlake::emulator {
namespace {

class FileLock {
 public:
  explicit FileLock(int file) : file_(file) { flock(file_, LOCK_EX); }
  ~FileLock() { flock(file_, LOCK_UN); }

 private:
  const int file_;
};

bool HasEnded(pid_t process) { return kill(process, 0) != 0 && errno == ESRCH; }

[[noreturn]] void Reject(const std::string& path, const char* what) {
  Log("cannot share emulated devices through %s: %s", path.c_str(), what);
  std::abort();
}

}  // namespace

SharedUse::SharedUse(const std::string& path, int device)
    : file_(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600)) {
  constexpr size_t kStride = 4096;
  static_assert(sizeof(Table) <= kStride, "a page holds a device's rows");
  if (device >= kDevices) Reject(path, "too many devices");
  if (file_ < 0) Reject(path, "the file cannot be written");
  // Its bytes are taken now: one that is only promised is SIGBUS when it is touched on a full disk.
  if (posix_fallocate(file_, 0, kStride * kDevices) != 0) Reject(path, "there is no room for the file");
  void* const page =
      mmap(nullptr, kStride, PROT_READ | PROT_WRITE, MAP_SHARED, file_, static_cast<off_t>(kStride) * device);
  if (page == MAP_FAILED) Reject(path, "the file cannot be mapped");
  table_ = static_cast<Table*>(page);
}

SharedUse::~SharedUse() {
  munmap(table_, sizeof(Table));
  close(file_);
}

bool SharedUse::Take(size_t size, size_t total) {
  const FileLock lock(file_);
  if (SumOfTheLiving() + size > total) return false;
  Row* const row = Mine();
  if (row == nullptr) return false;
  row->bytes += size;
  return true;
}

void SharedUse::Give(size_t size) {
  const FileLock lock(file_);
  if (Row* const row = Mine()) row->bytes -= size;
}

size_t SharedUse::used() {
  const FileLock lock(file_);
  return SumOfTheLiving();
}

size_t SharedUse::SumOfTheLiving() {
  size_t sum = 0;
  for (Row& row : table_->rows) {
    if (row.process != 0 && HasEnded(row.process)) row = {};
    sum += row.bytes;
  }
  return sum;
}

// This process's row; a free one at first. Null if too many share the device.
SharedUse::Row* SharedUse::Mine() {
  Row* free = nullptr;
  for (Row& row : table_->rows) {
    if (row.process == getpid()) return &row;
    if (row.process == 0 && free == nullptr) free = &row;
  }
  if (free != nullptr) *free = {getpid(), 0};
  return free;
}

}  // namespace gmlake::emulator
