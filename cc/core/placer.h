// Finds room for one request: the ways to serve it, cheapest first.
//
//   split    the best fit in the free chunks but the tail;             no driver call
//   reuse    where this size was served before, if that is free;       no driver call
//   split    the tail;                                                 no driver call
//   grow     append blocks at the tail, while that keeps within the slack
//   stitch   map scattered free blocks, and new ones for what is missing
//   grow     append blocks up to the limit
//
// Near the limit, bytes may be lost where leases end inside large blocks (seam.h). Once the blocks with a seam are more
// than a share of what is to spare, whatever would add one gives way to a stitch whose pieces fit exactly, if need be
// by recutting; only where that fails, because the device still uses what could be cut, is a seam made after all. Once
// they are much more, the request is refused until the device has been waited for.
//
// The order and every choice depend on what is free and on the request alone, so equal states get equal addresses. On
// success one lease is taken from the tables; on failure no bytes are.
#ifndef GMLAKE_CORE_PLACER_H_
#define GMLAKE_CORE_PLACER_H_

#include "cc/base/bytes.h"
#include "cc/base/status.h"
#include "cc/core/mapping/address_source.h"
#include "cc/core/mapping/grower.h"
#include "cc/core/mapping/reclaimer.h"
#include "cc/core/mapping/recutter.h"
#include "cc/core/mapping/stitch_mapper.h"
#include "cc/core/mapping/stream_order.h"
#include "cc/core/policy/stitch_plan.h"
#include "cc/core/ranges/memory.h"
#include "cc/core/tables/seam.h"
#include "cc/core/tables/tail_history.h"
#include "cc/telemetry/stats.h"

namespace gmlake {

// Two words, so that it is returned in registers.
struct Placement {
  ChunkId chunk = kNone;  // the lease's first chunk
  Way way = Way::kSplit;
  Address address;
};

// Thread rule: the allocator's lock. Cost: see the list above.
class Placer {
 public:
  Placer(Driver* driver, Memory* memory, StreamOrder* order, Reclaimer* reclaimer, AddressSource* addresses)
      : driver_(driver),
        memory_(memory),
        order_(order),
        grower_(driver, memory),
        planner_(memory),
        mapper_(driver, memory, &grower_, addresses),
        recutter_(driver, memory, order, reclaimer) {}

  struct Request {
    Bytes size;
    StreamHandle stream;
    Bytes limit;
    Bytes peak;      // most bytes ever leased, this request included
    int64_t number;  // counts requests
    bool at_home;    // only addresses of a primitive range will do: a slab, which may live long
    bool may_wait;   // may be refused for the time being, where the caller can wait for the device and ask again
  };
  StatusOr<Placement> Place(const Request& request);
  // The first of these ways, and, after it, the others that map nothing; both without regard to seams, so only far from
  // the limit. No chunk: there is no room.
  Placement SplitBestFit(Bytes size) {
    const ChunkId free = memory_->space.BestFit(size);
    return free == kNone ? Placement() : Split(free, Bytes(0), size, Way::kSplit);
  }
  Placement PlaceAtTail(const Request& request);
  // As `reserved > limit - limit / limit_per_near`, but every request asks, and a division is slow.
  bool IsNear(Bytes limit) const {
    const __int128 free_and_one = (limit - memory_->reserved()).count() + 1;
    return free_and_one * memory_->thresholds.limit_per_near <= limit.count();
  }

  // Creates blocks for the request, and leases nothing.
  Status Preallocate(const Request& request);
  // Splits only: room where there is some already, not at the tail, without more seams than the budget has.
  ChunkId TakeContiguous(const Request& request);
  // The smallest free chunk that has `size` bytes, all of it, if that is no more than what is requested.
  ChunkId TakeFragment(Bytes size, const Request& request);

  const Stitcher& stitcher() const { return planner_.stitcher(); }

 private:
  // What there is to say of a request against the present state.
  struct Candidate {
    ChunkId free = kNone;       // a chunk with room, or kNone
    bool tail = false;          // it is a tail
    Fit fit;                    // where in it
    bool avoids_seams = false;  // too much is lost to seams already
    bool adds_seam = false;     // ... and this split would add to it

    bool may_split() const { return free != kNone && !adds_seam; }
  };

  bool IsOverSeamBudget(const Request& request) const;
  bool IsInGranule(const Chunk& chunk) const;
  StatusOr<Placement> PlaceInOwnBlock(const Request& request);
  StatusOr<Placement> GrowOwnBlock(const Request& request, Bytes most);
  Placement TakeHome(const Request& request, Address home, Way way);
  Candidate CandidateForSlab(const Request& request, Candidate candidate) const;
  bool ReusePart(const Request& request, const Candidate& candidate, Placement* placement);
  ChunkId Room(Bytes size) const;
  void AvoidSeams(const Request& request, Candidate* candidate) const;
  bool FindSeamlessFit(Bytes size, Candidate* candidate) const;
  Fit FitIn(const Chunk& chunk, Bytes size) const;
  Placement Remember(const Request& request, const Placement& placement);
  StatusOr<Placement> PlaceBy(const Request& request, const Candidate& candidate);
  Candidate FindCandidate(const Request& request) const;
  Candidate FindCandidateIgnoringSeams(const Request& request) const;
  bool ShouldWait(const Request& request) const;
  Bytes SeamBudget(const Request& request) const;
  Placement Split(ChunkId free, Bytes offset, Bytes size, Way way) {
    const ChunkId chunk = memory_->space.Take(free, offset, size);
    return {chunk, way, memory_->chunks[chunk].address};
  }
  bool Reuse(const Request& request, const Candidate& candidate, Placement* placement);
  StatusOr<Placement> MapMore(const Request& request, const Candidate& candidate);
  StatusOr<Placement> GrowOrStitch(const Request& request, const Candidate& candidate);
  // Creates what is missing at the best place, if that is not more than `most`.
  StatusOr<Placement> Grow(const Request& request, Bytes most);
  StatusOr<Placement> StitchOrGrow(const Request& request, const Candidate& candidate);
  StatusOr<Placement> StitchOrGrow(const Request& request, const Candidate& candidate, const StitchPlan& plan);
  Address HomeOf(const StitchPlan& plan, Bytes missing) const;
  Address HomeOf(const Selection& selection) const;
  StatusOr<Placement> Stitch(const Request& request, const StitchPlan& plan);
  bool AddsSeam(const StitchPlan& plan) const;
  StitchPlan EndWith(StitchPlan plan, Address home, Bytes size) const;
  StitchPlan Recut(const Request& request, const StitchPlan& plan);
  Placement LeaseFrom(RangeId range, Bytes offset, const Request& request, Way way);
  Bytes Headroom(const Request& request) const;
  GrowthInput InputOf(const Request& request) const;

  Driver* driver_;
  Memory* memory_;
  StreamOrder* order_;
  TailHistory tail_history_;
  Grower grower_;
  StitchPlanner planner_;
  StitchMapper mapper_;
  Recutter recutter_;
};

}  // namespace gmlake

#endif  // GMLAKE_CORE_PLACER_H_
