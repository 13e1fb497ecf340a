// Decides how a request is stitched: in a new range, or by mapping more blocks at the end of an idle one.
//
// A stitched range reserves more addresses than it maps. Where its last blocks are free, a request that is larger than
// they are needs only the difference mapped behind them. The plan with the fewest mappings wins; near the limit, the
// one that uses the fewest whole granules (open_granules.h). Deciding calls no driver; executing a plan (StitchMapper)
// does.
#ifndef GMLAKE_CORE_POLICY_STITCH_PLAN_H_
#define GMLAKE_CORE_POLICY_STITCH_PLAN_H_

#include <vector>

#include "cc/base/bytes.h"
#include "cc/core/policy/stitcher.h"
#include "cc/core/ranges/memory.h"

namespace gmlake {

struct StitchPlan {
  RangeId range = kNone;      // to be extended; kNone: a new range
  Bytes offset;               // where in the range the lease will begin
  std::vector<BlockId> kept;  // blocks of the range that the lease uses as they are mapped
  Selection more;             // what is to be mapped

  // Mappings to be made, new blocks not counted.
  size_t mappings() const { return more.pieces.size() + (more.tail.block == kNone ? 0 : 1); }
};

// What mapping the selection takes of a range's addresses.
Bytes MappedBytes(const BlockTable& blocks, const Selection& more);

// Thread rule: the allocator's lock. Cost: a look at every free block, and at the ranges whose ends may be free
// (range_room.h).
class StitchPlanner {
 public:
  explicit StitchPlanner(Memory* memory) : memory_(memory), stitcher_(memory) {}

  // `is_near`: the limit, so that open granules come before few mappings.
  StitchPlan Plan(Bytes request, bool is_near);

  const Stitcher& stitcher() const { return stitcher_; }

 private:
  StitchPlan InNewRange(const Stitcher::Offer& offer, Bytes request, bool fills) const;
  StitchPlan InRange(Stitcher::Offer offer, const Run& run, Bytes request, bool fills) const;
  static bool IsBetter(const StitchPlan& plan, const StitchPlan& other, Bytes more);
  Bytes WholeGranules(const StitchPlan& plan, Bytes request) const;
  bool HasRoom(const StitchPlan& plan) const;

  Memory* memory_;
  Stitcher stitcher_;
};

}  // namespace gmlake

#endif  // GMLAKE_CORE_POLICY_STITCH_PLAN_H_
