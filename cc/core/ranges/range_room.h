// Finds room in stitched ranges: free extents inside them, and free bytes at their ends.
//
// Requests and frees do not update ranges. Each range therefore stores only an upper bound on its longest free extent.
// A request can only shorten extents, so it never breaks a bound. Freed blocks are in the log of the block table; a
// search reads it and raises the bounds of the ranges over them. It then looks through the ranges whose bound is large
// enough, and lowers their bounds to what it finds. With few ranges there are no bounds.
#ifndef GMLAKE_CORE_RANGES_RANGE_ROOM_H_
#define GMLAKE_CORE_RANGES_RANGE_ROOM_H_

#include <cstdint>
#include <string>
#include <vector>

#include "cc/base/bytes.h"
#include "cc/core/ranges/size_index.h"
#include "cc/core/ranges/stitched_range.h"
#include "cc/core/tables/block_table.h"
#include "cc/core/tables/chunk.h"

namespace gmlake {

// Where in a range a request finds room.
struct Spot {
  RangeId range = kNone;
  Bytes offset;
};

// Free bytes at the end of a range: whole blocks, and perhaps the end of the one before them.
struct Run {
  RangeId range = kNone;
  Bytes offset;
  Bytes size;
  size_t first_block = 0;  // where in StitchedRange::blocks it starts
};

// Invariant: apart from blocks in the unread log, no free extent of a range is longer than its bound, and none at its
// end is longer than its bound for ends. Thread rule: the allocator's lock. Cost: a search takes a step for each block
// freed since the last one and each range over it, and a step for each block of a range that may have room.
class RangeRoom {
 public:
  RangeRoom(BlockTable* blocks, const ChunkStore* chunks, const std::vector<StitchedRange>* ranges, int64_t few_ranges)
      : blocks_(blocks), chunks_(chunks), ranges_(ranges), few_ranges_(few_ranges) {}

  // To be called when the blocks of the range have changed. Drops its bounds.
  void Forget(RangeId id);

  // The smallest free extent with room for `request`, at its front or back; `seamless`: where that adds no seam. No
  // range if there is none. What is in quarantine has no room.
  Spot FindSpot(Bytes request, bool seamless);
  // The longest free end of a range that can be extended, as many of its blocks as `most` has room for without leaving
  // a part of a free block behind. No range if the last byte of each is in use.
  Run LongestRun(Bytes most);
  // Would a lease of [offset, offset + request) add no seam?
  bool IsSeamless(RangeId id, Bytes offset, Bytes request) const;

  // Says what is wrong with the bounds, or nothing.
  std::string Check() const;

 private:
  void Lower(SizeIndex* bounds, RangeId id, Bytes size);
  void CatchUp();
  void Read(const FreeLog& freed);
  int64_t OnFree(BlockId id);
  void Raise(RangeId id, BlockId block, Bytes prefix, Bytes suffix);
  void RaiseAround(RangeId id, size_t first, size_t behind);
  bool Widen(const StitchedRange& range, size_t* first, size_t* behind) const;
  // Calls `visit(offset, size)` for every free extent of the range of at least so many bytes, by address. Not for one
  // inside a block.
  template <typename Visit>
  void ForEachExtent(RangeId id, Bytes least, Visit visit);
  Bytes FreeEnd(const StitchedRange& range, size_t at) const;
  size_t FreeUntil(const StitchedRange& range, size_t at) const;
  size_t FindBusy(RangeId id, size_t first, size_t behind);
  Run LastRun(RangeId id, Bytes most);
  Bytes SeamIn(RangeId id, Bytes offset) const;
  std::string CheckRange(RangeId id);

  bool are_few() const { return static_cast<int64_t>(ranges_->size()) <= few_ranges_; }
  const Block& BlockOf(const StitchedRange& range, size_t index) const { return (*blocks_)[range.blocks[index]]; }
  bool IsAllFree(const Block& block) const { return FreePrefix(block) == block.size; }
  Bytes FreePrefix(const Block& block) const;
  Bytes FreeSuffix(const Block& block) const;

  BlockTable* blocks_;
  const ChunkStore* chunks_;
  const std::vector<StitchedRange>* ranges_;
  int64_t few_ranges_;
  SizeIndex most_;            // by range: no free extent has more bytes
  SizeIndex most_last_;       // the same of an extent at its end
  std::vector<size_t> busy_;  // by range: the number of a block that was in the way when last looked
};

}  // namespace gmlake

#endif  // GMLAKE_CORE_RANGES_RANGE_ROOM_H_
