// Remembers which stitched range served a request of some size, and at which offset.
//
// The cache finds the entries of a size. The range table decides whether one applies.
#ifndef GMLAKE_CORE_RANGES_STITCH_CACHE_H_
#define GMLAKE_CORE_RANGES_STITCH_CACHE_H_

#include <cstdint>
#include <vector>

#include "cc/base/bytes.h"
#include "cc/core/tables/blocker.h"
#include "cc/core/tables/chunk.h"

namespace gmlake {

// A request of this size was served there. `blocker`: what made the last try fail.
struct CachedStitch {
  RangeId range;
  Bytes offset;
  int64_t moment;      // of its first use
  size_t first_block;  // where in StitchedRange::blocks the block under `offset` is
  Blocker blocker;
};

// Model: a hash table from sizes to lists; a list keeps the order in which its cached stitches were first used.
// Invariant: at most half full. Thread rule: the allocator's lock. Cost: one or two cache lines to find a size.
class StitchCache {
 public:
  using CachedStitches = std::vector<CachedStitch>;

  StitchCache() : slots_(kFewestSlots) {}

  // Null: there are none.
  CachedStitches* Find(Bytes request) {
    const int32_t list = slots_[Locate(request)].list;
    return list == kNone ? nullptr : &lists_[list];
  }
  // When there are too many, because a program's sizes never repeat, all are forgotten and learnt again.
  void Add(Bytes request, const CachedStitch& stitch);

  // Calls `visit(request, cached stitch)` for every cached stitch and drops those for which it returns false.
  template <typename Visit>
  void Revise(Visit visit) {
    for (const Slot& slot : slots_) {
      if (slot.list != kNone) num_stitches_ -= ReviseList(&lists_[slot.list], slot.request, visit);
    }
  }

 private:
  static constexpr size_t kFewestSlots = 1 << 6;
  static constexpr int64_t kMostStitches = 1 << 16;
  struct Slot {
    Bytes request;
    int32_t list = kNone;
  };

  size_t Locate(Bytes request) const {
    const size_t mask = slots_.size() - 1;
    size_t slot = static_cast<size_t>((static_cast<uint64_t>(request.count()) * 0x9E3779B97F4A7C15ull) >> 40) & mask;
    while (slots_[slot].list != kNone && slots_[slot].request != request) slot = (slot + 1) & mask;
    return slot;
  }
  CachedStitches* FindOrAdd(Bytes request);
  void Double();
  void Clear();
  template <typename Visit>
  static int64_t ReviseList(CachedStitches* stitches, Bytes request, Visit visit) {
    size_t kept = 0;
    for (CachedStitch& stitch : *stitches) {
      if (visit(request, &stitch)) (*stitches)[kept++] = stitch;
    }
    const int64_t dropped = static_cast<int64_t>(stitches->size() - kept);
    stitches->resize(kept);
    return dropped;
  }

  std::vector<Slot> slots_;
  std::vector<CachedStitches> lists_;
  int64_t num_stitches_ = 0;
};

}  // namespace gmlake

#endif  // GMLAKE_CORE_RANGES_STITCH_CACHE_H_
