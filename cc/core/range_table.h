// Stitched ranges: addresses at which blocks are mapped a second time, in an order that makes scattered free bytes one
// contiguous piece; and recipes, which remember by which range a request of some size was served.
//
// A range owns no bytes. Whether it can be used is asked of the chunks under it each time. It makes no driver call.
#ifndef GMLAKE_CORE_RANGE_TABLE_H_
#define GMLAKE_CORE_RANGE_TABLE_H_

#include <algorithm>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "cc/base/bytes.h"
#include "cc/core/block_table.h"
#include "cc/core/chunk.h"
#include "cc/core/obstacle.h"
#include "cc/core/recipe_book.h"

namespace gmlake {

// Bytes [from, to) of a block.
struct Piece {
  BlockId block;
  Bytes from;
  Bytes to;

  Bytes size() const { return to - from; }
};

// A block that was not all free when last asked, and why.
struct WatchedBlock {
  BlockId block;
  Obstacle obstacle;
};

struct StitchedRange {
  Address base;
  Bytes size;                   // mapped, from the base on
  Bytes reserved;               // addresses; what is not mapped yet lets the range be extended in place
  Address reservation;          // begins at the base, unless the range is what is left behind a block that was cut out
  std::vector<BlockId> blocks;  // in address order; empty: this number is unused
  std::vector<Bytes> ends;      // where in the range each of them ends
  bool sealed = false;          // something at its end would not come off: it cannot be extended
  bool quarantined = false;     // the driver refused to unmap it, or a part of it: none of its blocks is released
  bool prepared = false;        // made before it was asked for, and not used yet
  std::vector<WatchedBlock> watched;  // were not all free when last asked, and are asked first; none: nothing is known
  Bytes most_between;                 // while none of them is, no free extent has so many bytes
  int leases = 0;                     // live leases through this range
  int64_t last_use = 0;               // the allocator's request count
  int64_t freed = 0;                  // Memory::ticks() when its last lease ended

  // Where in the range block number `index` begins.
  Bytes StartOf(size_t index) const { return index == 0 ? Bytes(0) : ends[index - 1]; }
  // The number of the block under `offset`.
  size_t IndexAt(Bytes offset) const {
    return static_cast<size_t>(std::upper_bound(ends.begin(), ends.end(), offset) - ends.begin());
  }
};

// Addresses as they were reserved, and must be freed: by the range, or by what is left of it, once nothing is left.
struct Reservation {
  Address base;
  Bytes size;
  int ranges = 0;       // that lie in it
  bool sealed = false;  // something in it would not come off: it cannot be freed
};

// Free bytes at the end of a range: whole blocks, and perhaps the end of the one before them.
struct Run {
  RangeId range = kNone;
  Bytes offset;
  Bytes size;
  size_t first_block = 0;  // where in StitchedRange::blocks it starts
};

// Invariant: no block is mapped twice in a range; every block of a range names the range in Block::aliases. Recipes of
// one size stay in the order in which they were first used; the first that applies is taken, so that equal states get
// equal answers.
// Thread rule: the allocator's lock. Cost: one look per recipe that does not apply, one per block for the one that
// does.
class RangeTable {
 public:
  RangeTable(BlockTable* blocks, ChunkStore* chunks) : blocks_(blocks), chunks_(chunks) {}

  RangeId Add(Address base, Bytes reserved, const std::vector<BlockId>& blocks);
  // More blocks have been mapped at the range's end.
  void Extend(RangeId id, const std::vector<BlockId>& more);
  // The range with this address can no longer be extended.
  void Seal(Address address);
  // Forgets the range, which the caller has unmapped, and its recipes. Returns its reservation, which is of no more use
  // if no other range lies in it.
  Reservation Remove(RangeId id);
  // One block of the range, not leased through it and not its only one, has been unmapped. What lies behind it becomes
  // a range of its own, with its leases and recipes.
  void CutOut(RangeId id, BlockId block);
  // No request will be served by this range again.
  void RemoveRecipes(RangeId id);

  // A request was served by this range, at this offset; `moment` counts requests.
  void AddRecipe(Bytes request, RangeId id, Bytes offset, int64_t moment);
  bool HasRecipes(Bytes request) { return recipes_.Find(request) != nullptr; }
  // The first recipe for `request` from before `moment` whose bytes are all free; null if there is none.
  // `neat`: only such that adds no seam.
  const Recipe* FindRecipe(Bytes request, int64_t moment, bool neat);

  // The free bytes at the end of a range, as many as `most` has room for without leaving a part of a free block behind;
  // none if its last byte is in use.
  Run LastRun(RangeId id, Bytes most) const;

  // The smallest free extent with room for `request`, at its front or back; `neat`: where that adds no seam. Null
  // `range` (kNone) if there is none.
  struct Spot {
    RangeId range = kNone;
    Bytes offset;
  };
  Spot FindSpot(Bytes request, bool neat);

  // Where in the range the block is mapped.
  Bytes OffsetOf(RangeId id, BlockId block) const;
  // The pieces under [offset, offset + size) of a range.
  std::vector<Piece> PiecesOf(RangeId id, Bytes offset, Bytes size) const;

  StitchedRange& operator[](RangeId id) { return ranges_[id]; }
  const StitchedRange& operator[](RangeId id) const { return ranges_[id]; }
  int64_t count() const { return static_cast<int64_t>(ranges_.size() - unused_.size()); }
  Bytes mapped_bytes() const { return mapped_bytes_; }
  int64_t mappings() const { return mappings_; }

  template <typename Visit>
  void ForEach(Visit visit) const {
    for (size_t id = 0; id < ranges_.size(); ++id) {
      if (!ranges_[id].blocks.empty()) visit(static_cast<RangeId>(id));
    }
  }

 private:
  RangeId NewNumber();
  void Detach(RangeId id, BlockId block);
  void DropFront(StitchedRange* range, size_t blocks);
  // `id` ends before the gap [from, to); what lies behind becomes a range, returned.
  RangeId SplitAt(RangeId id, size_t index, Bytes from, Bytes to);
  // The block of number `index`, at [from, to), is no longer in the range.
  void ReviseRecipes(RangeId id, size_t index, Bytes from, Bytes to, RangeId behind);
  void MoveLeases(RangeId from, RangeId to);
  // Would a lease of [offset, offset + request) add no seam?
  bool IsNeat(RangeId id, Bytes offset, Bytes request) const;
  Bytes SeamIn(RangeId id, Bytes offset) const;
  // Calls `visit(offset, size)` for every longest extent of at least so many free bytes in the range, by address.
  template <typename Visit>
  void ForEachExtent(RangeId id, Bytes least, Visit visit) const;
  bool IsTooBusy(RangeId id, Bytes request);
  bool Watch(RangeId id, Bytes request);
  size_t LastBusy(const StitchedRange& range, size_t first, size_t last, Obstacle* obstacle) const;
  bool IsAllFree(WatchedBlock* watched) const;
  bool Applies(Recipe* recipe, Bytes request) const;
  Obstacle ObstacleIn(const Block& block, Bytes from, Bytes to) const {
    return FindObstacle(*blocks_, *chunks_, block.home + from, block.home + to);
  }
  // Free bytes at the block's beginning, and at its end; all of them at both where it is all free.
  struct FreeEnds {
    Bytes prefix;
    Bytes suffix;
  };
  FreeEnds FreeEndsOf(const Block& block) const;
  Bytes FreeSuffix(const Block& block) const;

  BlockTable* blocks_;
  ChunkStore* chunks_;
  std::vector<StitchedRange> ranges_;
  std::vector<RangeId> unused_;
  std::unordered_map<uint64_t, Reservation> reservations_;  // by their first address
  RecipeBook recipes_;
  Bytes mapped_bytes_;
  int64_t mappings_ = 0;
};

}  // namespace gmlake

#endif  // GMLAKE_CORE_RANGE_TABLE_H_
