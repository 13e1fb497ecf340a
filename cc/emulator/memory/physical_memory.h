// The physical memory of one device: a memfd, handed out in granules.
//
// A block's granules need not lie together in the file; mapped, they appear in one piece. The same granules mapped at
// several addresses really are the same memory. A granule that comes back is punched out of the file, so that memory
// is zero when it is handed out again (XLA's loops read predicates that no kernel writes here: dirty memory would
// keep them running).
#ifndef GMLAKE_EMULATOR_MEMORY_PHYSICAL_MEMORY_H_
#define GMLAKE_EMULATOR_MEMORY_PHYSICAL_MEMORY_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "cc/emulator/memory/free_list.h"
#include "cc/emulator/memory/shared_use.h"

namespace gmlake::emulator {

inline constexpr size_t kGranule = size_t{2} << 20;

// A run of granules in the device's file.
struct Extent {
  uint64_t offset;
  uint64_t size;
};

// Thread rule: the machine's lock. Cost: a system call for each extent that comes back, and one write of the whole
// block where new memory is poisoned.
class PhysicalMemory {
 public:
  // `shared`: the file through which processes share the device; empty: this one has it alone.
  PhysicalMemory(int device, size_t total, const std::string& shared = "");

  // Empty if `size` bytes (whole granules) are not there.
  std::vector<Extent> Take(size_t size);
  void Give(const std::vector<Extent>& extents);
  // Lets the extents appear at `address`, which lies in the address window.
  bool MapAt(uint64_t address, const std::vector<Extent>& extents, int protection) const;

  size_t total() const { return total_; }
  // What nobody holds, in any process.
  size_t left() const { return total_ - (shared_ ? shared_->used() : used_); }
  // What this process holds.
  size_t used() const { return used_; }
  size_t peak() const { return peak_; }
  void ResetPeak() { peak_ = used_; }

 private:
  bool Reserve(size_t size);
  void Poison(const Extent& extent) const;

  size_t total_, used_ = 0, peak_ = 0;
  int file_ = -1;
  FreeList free_;
  std::unique_ptr<SharedUse> shared_;
};

}  // namespace gmlake::emulator

#endif  // GMLAKE_EMULATOR_MEMORY_PHYSICAL_MEMORY_H_
