#include "cc/pjrt/patch/page_protection.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>

namespace gmlake {
namespace {

uintptr_t PageSize() { return static_cast<uintptr_t>(sysconf(_SC_PAGESIZE)); }

int ParseProtection(const char* flags) {
  int protection = PROT_NONE;
  if (flags[0] == 'r') protection |= PROT_READ;
  if (flags[1] == 'w') protection |= PROT_WRITE;
  if (flags[2] == 'x') protection |= PROT_EXEC;
  return protection;
}

Status CannotWrite() {
  return Status(StatusCode::kNotSupported,
                std::string("the library's function table cannot be made writable: ") + std::strerror(errno));
}

}  // namespace

int ProtectionOf(const void* address) {
  std::FILE* maps = std::fopen("/proc/self/maps", "re");
  if (maps == nullptr) return -1;
  const uintptr_t wanted = reinterpret_cast<uintptr_t>(address);
  char line[512];
  int protection = -1;
  while (protection < 0 && std::fgets(line, sizeof(line), maps) != nullptr) {
    uintptr_t begin = 0;
    uintptr_t end = 0;
    char flags[8] = "";
    if (std::sscanf(line, "%" SCNxPTR "-%" SCNxPTR " %7s", &begin, &end, flags) != 3) continue;
    if (begin <= wanted && wanted < end) protection = ParseProtection(flags);
  }
  std::fclose(maps);
  return protection;
}

StatusOr<WritablePage> WritablePage::Open(void* address) {
  const int former = ProtectionOf(address);
  if (former < 0) return Status(StatusCode::kInvalidArgument, "the library's function table is not in memory");
  if ((former & PROT_WRITE) != 0) return WritablePage(nullptr, former);
  void* page = reinterpret_cast<void*>(reinterpret_cast<uintptr_t>(address) & ~(PageSize() - 1));
  if (mprotect(page, PageSize(), former | PROT_WRITE) != 0) return CannotWrite();
  return WritablePage(page, former);
}

WritablePage::WritablePage(WritablePage&& other) noexcept : page_(other.page_), former_(other.former_) {
  other.page_ = nullptr;
}

WritablePage::~WritablePage() {
  if (page_ != nullptr) mprotect(page_, PageSize(), former_);
}

}  // namespace gmlake
