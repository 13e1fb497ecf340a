#include "cc/emulator/memory/address_window.h"

#include <sys/mman.h>

#include <cstdlib>

#include "cc/emulator/calls/log.h"
#include "cc/emulator/memory/physical_memory.h"

namespace gmlake::emulator {
namespace {

constexpr uint64_t kLargest = uint64_t{16} << 40;
constexpr uint64_t kSmallest = uint64_t{16} << 30;
constexpr int kNothing = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;

}  // namespace

// A machine may forbid very large reservations (ulimit -v), so smaller ones are tried.
AddressWindow::AddressWindow() {
  void* found = MAP_FAILED;
  for (size_ = kLargest; size_ >= kSmallest; size_ /= 2) {
    found = mmap(nullptr, size_ + kGranule, PROT_NONE, kNothing, -1, 0);
    if (found != MAP_FAILED) break;
  }
  if (found == MAP_FAILED) {
    Log("cannot reserve addresses for the emulated devices: %m");
    std::abort();
  }
  begin_ = (reinterpret_cast<uint64_t>(found) + kGranule - 1) / kGranule * kGranule;
  next_ = begin_;
  free_.Give(begin_, size_);
}

std::optional<uint64_t> AddressWindow::Reserve(size_t size, size_t alignment) {
  const std::optional<uint64_t> begin = free_.TakeNextFit(size, alignment, next_);
  if (begin) next_ = *begin + size;
  return begin;
}

void AddressWindow::Free(uint64_t begin, size_t size) { free_.Give(begin, size); }

bool AddressWindow::Protect(uint64_t begin, size_t size, int protection) {
  return mprotect(reinterpret_cast<void*>(begin), size, protection) == 0;
}

bool AddressWindow::Clear(uint64_t begin, size_t size) {
  void* const wanted = reinterpret_cast<void*>(begin);
  return mmap(wanted, size, PROT_NONE, kNothing | MAP_FIXED, -1, 0) != MAP_FAILED;
}

}  // namespace gmlake::emulator
