#include "cc/emulator/memory/physical_memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <string>

#include "cc/emulator/calls/log.h"
#include "cc/emulator/calls/settings.h"

namespace gmlake::emulator {

PhysicalMemory::PhysicalMemory(int device, size_t total, const std::string& shared) : total_(total) {
  const std::string name = "gmlake-emulated-gpu" + std::to_string(device);
  file_ = memfd_create(name.c_str(), MFD_CLOEXEC);
  if (file_ < 0 || ftruncate(file_, static_cast<off_t>(total)) != 0) {
    Log("cannot make %zu bytes of emulated device memory: %m", total);
    std::abort();
  }
  if (total > 0) free_.Give(0, total);
  if (!shared.empty()) shared_ = std::make_unique<SharedUse>(shared, device);
}

bool PhysicalMemory::Reserve(size_t size) {
  if (used_ + size > total_) return false;
  return shared_ == nullptr || shared_->Take(size, total_);
}

std::vector<Extent> PhysicalMemory::Take(size_t size) {
  std::vector<Extent> extents;
  if (!Reserve(size)) return extents;
  for (size_t missing = size; missing > 0;) {
    uint64_t taken = 0;
    const uint64_t offset = *free_.TakeFirst(missing, &taken);
    extents.push_back({offset, taken});
    missing -= taken;
  }
  used_ += size;
  peak_ = std::max(peak_, used_);
  if (settings().poison >= 0) {
    for (const Extent& extent : extents) Poison(extent);
  }
  return extents;
}

void PhysicalMemory::Give(const std::vector<Extent>& extents) {
  for (const Extent& extent : extents) {
    fallocate(file_, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(extent.offset),
              static_cast<off_t>(extent.size));
    free_.Give(extent.offset, extent.size);
    used_ -= extent.size;
    if (shared_ != nullptr) shared_->Give(extent.size);
  }
}

bool PhysicalMemory::MapAt(uint64_t address, const std::vector<Extent>& extents, int protection) const {
  for (const Extent& extent : extents) {
    void* const wanted = reinterpret_cast<void*>(address);
    void* const mapped =
        mmap(wanted, extent.size, protection, MAP_SHARED | MAP_FIXED, file_, static_cast<off_t>(extent.offset));
    if (mapped == MAP_FAILED) {
      Log("mmap of emulated device memory: %m");
      return false;
    }
    address += extent.size;
  }
  return true;
}

void PhysicalMemory::Poison(const Extent& extent) const {
  void* const view =
      mmap(nullptr, extent.size, PROT_READ | PROT_WRITE, MAP_SHARED, file_, static_cast<off_t>(extent.offset));
  if (view == MAP_FAILED) return;
  std::memset(view, settings().poison, extent.size);
  munmap(view, extent.size);
}

}  // namespace gmlake::emulator
