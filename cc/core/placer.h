// Finds room for one request. It tries these ways, cheapest first:
//
//   split    the best fit in the free chunks but the tail;             no driver call
//   reuse    a cached stitch of this size whose blocks are free;       no driver call
//   split    the tail;                                                 no driver call
//   grow     append blocks at the tail, while that keeps within the slack
//   stitch   map scattered free blocks, and new ones for what is missing
//   grow     append blocks up to the limit
//
// Near the limit, a lease that ends inside a large block may waste bytes: it makes a seam (seam.h). The blocks with a
// seam have a budget, a share of the bytes to spare. Over budget, a stitch whose pieces fit exactly replaces any way
// that adds a seam, and a block is recut for it where needed. Where that fails, because the device still uses the
// blocks that could be cut, the seam is added. Far over budget, the request is refused until somebody has waited for
// the device.
//
// The order and every choice depend only on the request and on what is free, so equal states give equal addresses.
// After a success one lease is taken from the tables; after a failure none is.
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

// Two words long, so that functions return it in registers.
struct Placement {
  ChunkId chunk = kNone;  // the lease's first chunk
  Way way = Way::kSplit;
  Address address;
};

// Model: decisions over the tables of a device; it keeps only the tail history. Invariant: no bytes beyond the limit
// are created. Thread rule: the allocator's lock. Cost: see the list above.
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
    Bytes peak;      // high-water mark, this request included
    int64_t number;  // counts requests
    bool at_home;    // only addresses of a primitive range serve it: a slab, which may live long
    bool may_wait;   // it may be refused where the caller can wait for the device and ask again
  };
  StatusOr<Placement> Place(const Request& request);
  // The first of these ways; PlaceAtTail then tries the others that map nothing. Both ignore seams, so they serve only
  // far from the limit. No chunk: there is no room.
  Placement SplitBestFit(Bytes size) {
    const ChunkId free = memory_->space.BestFit(size);
    return free == kNone ? Placement() : Split(free, Bytes(0), size, Way::kSplit);
  }
  Placement PlaceAtTail(const Request& request);
  // `reserved > limit - limit / limit_per_near`, without a division, because every request asks.
  bool IsNear(Bytes limit) const {
    const __int128 free_and_one = (limit - memory_->reserved()).count() + 1;
    return free_and_one * memory_->thresholds.limit_per_near <= limit.count();
  }

  // Creates blocks for the request and leases none of them.
  Status Preallocate(const Request& request);
  // Splits a free chunk that is not the tail, and keeps to the budget of seams.
  ChunkId TakeContiguous(const Request& request);
  // Takes the whole of the smallest free chunk with `size` bytes, if the request is for at least as much.
  ChunkId TakeFragment(Bytes size, const Request& request);

  const Stitcher& stitcher() const { return planner_.stitcher(); }

 private:
  // A free chunk for a request, and what using it costs.
  struct Candidate {
    ChunkId free = kNone;       // a chunk with room, or kNone
    bool tail = false;          // it is a tail
    Fit fit;                    // the place in it
    bool avoids_seams = false;  // the budget of seams is used up
    bool adds_seam = false;     // ... and this split would add a seam

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
  // Creates the missing bytes at the best place, if they are at most `most`.
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
