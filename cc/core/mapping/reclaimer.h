// Releases what is idle: stitched ranges (addresses and mappings) and physical blocks (memory).
//
// It touches only what the device has finished with (StreamOrder::proven), and never waits. What the driver refuses to
// take back stays mapped, is never used again and is counted.
#ifndef GMLAKE_CORE_MAPPING_RECLAIMER_H_
#define GMLAKE_CORE_MAPPING_RECLAIMER_H_

#include <vector>

#include "cc/base/bytes.h"
#include "cc/core/mapping/arenas.h"
#include "cc/core/mapping/counting_driver.h"
#include "cc/core/mapping/stream_order.h"
#include "cc/core/ranges/memory.h"
#include "cc/driver/driver.h"

namespace gmlake {

// How many idle aliases may be kept for the next step that needs them.
struct ReclaimBudget {
  int64_t mappings = 1 << 16;
  Bytes bytes = GiB(1 << 12);
};

// Thread rule: the allocator's lock. Cost: 2 driver calls per range, 2 per block and its ranges.
class Reclaimer {
 public:
  Reclaimer(CountingDriver* driver, Memory* memory, const StreamOrder* order)
      : driver_(driver), memory_(memory), order_(order), arenas_(driver, memory) {}

  bool OverBudget(const ReclaimBudget& budget) const;
  // Unmaps idle ranges, least recently used first, until the budget holds.
  void EnforceBudget(const ReclaimBudget& budget);
  // Unmaps idle ranges, least recently used first, until `enough()`.
  template <typename Enough>
  void UnmapIdleUntil(Enough enough) {
    for (RangeId id : IdleRanges()) {
      if (enough()) return;
      Unmap(id);
    }
    enough();
  }
  // Releases idle blocks, highest address first, until at most `target` bytes are held; returns the bytes given back.
  Bytes Trim(Bytes target);
  // Can the block be released?
  bool IsIdle(BlockId block) const;
  // Releases an idle block, and takes it out of the ranges over it; false if the driver refuses any of it.
  bool Release(BlockId block);
  // At the end of the allocator's life: everything but what is leased or in doubt, which stays as it is.
  void ReleaseAll();

  int64_t num_reclaimed() const { return num_reclaimed_; }

 private:
  // Least recently used first.
  std::vector<RangeId> IdleRanges() const;
  bool IsIdleRange(RangeId range) const;
  bool Detach(BlockId block, RangeId range);
  bool Unmap(RangeId range);
  bool CutOut(BlockId block, RangeId range);
  void QuarantineRange(RangeId range);
  void QuarantineBlock(BlockId block);
  bool IsEmpty(const PrimitiveRange& range) const;

  Driver* driver_;
  Memory* memory_;
  const StreamOrder* order_;
  Arenas arenas_;
  int64_t num_reclaimed_ = 0;
};

}  // namespace gmlake

#endif  // GMLAKE_CORE_MAPPING_RECLAIMER_H_
