// The stitched ranges of a device, and cached stitches, which remember by which range a request of some size was
// served.
//
// A range owns no bytes: the chunks under it tell whether it can be used. The table makes no driver call.
#ifndef GMLAKE_CORE_RANGES_RANGE_TABLE_H_
#define GMLAKE_CORE_RANGES_RANGE_TABLE_H_

#include <cstdint>
#include <vector>

#include "cc/base/bytes.h"
#include "cc/core/ranges/address_space.h"
#include "cc/core/ranges/range_room.h"
#include "cc/core/ranges/stitch_cache.h"
#include "cc/core/ranges/stitched_range.h"
#include "cc/core/tables/block_table.h"
#include "cc/core/tables/blocker.h"
#include "cc/core/tables/chunk.h"

namespace gmlake {

// Bytes [from, to) of a block.
struct Piece {
  BlockId block;
  Bytes from;
  Bytes to;

  Bytes size() const { return to - from; }
};

// Invariant: no block is mapped twice in a range; every block of a range names the range in Block::aliases; each range
// owns its addresses, from its base on, and no two of them own the same. CachedStitches of one size stay in the order
// in which they were first used; the first that applies is taken, so that equal states get equal answers. Thread rule:
// the allocator's lock. Cost: one look per cached stitch that does not apply, one per block for the one that does; room
// is found as range_room.h says.
class RangeTable {
 public:
  RangeTable(BlockTable* blocks, ChunkStore* chunks, int64_t few_ranges)
      : blocks_(blocks), chunks_(chunks), room_(blocks, chunks, &ranges_, few_ranges) {}
  RangeTable(const RangeTable&) = delete;
  RangeTable& operator=(const RangeTable&) = delete;

  RangeId Add(Address base, Bytes reserved, const std::vector<BlockId>& blocks);
  // More blocks have been mapped at the range's end.
  void Extend(RangeId id, const std::vector<BlockId>& more);
  // The range with this address can no longer be extended.
  void Seal(Address address);
  // Forgets the range, which the caller has unmapped, and its cached stitches. Returns its addresses.
  Span Remove(RangeId id);
  // One block of the range, not leased through it and not its only one, has been unmapped. What lies behind it becomes
  // a range of its own, with its leases and cached stitches. Returns the addresses that belong to no range any more.
  Span CutOut(RangeId id, BlockId block);
  // The range cannot be extended any more. Returns the addresses that were kept for that.
  Span TakeBackRoom(RangeId id);
  // No request will be served by this range again.
  void RemoveCachedStitches(RangeId id);

  // A request was served by this range, at this offset; `moment` counts requests.
  void AddCachedStitch(Bytes request, RangeId id, Bytes offset, int64_t moment);
  bool HasCachedStitches(Bytes request) { return stitches_.Find(request) != nullptr; }
  // The first cached stitch for `request` from before `moment` whose bytes are all free; null if there is none.
  // `seamless`: only such that adds no seam.
  const CachedStitch* FindCachedStitch(Bytes request, int64_t moment, bool seamless);

  RangeRoom& room() { return room_; }
  const RangeRoom& room() const { return room_; }

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
  static Span DropFront(StitchedRange* range, size_t blocks);
  // `id` ends before the gap [from, to); what lies behind becomes a range, returned.
  RangeId SplitAt(RangeId id, size_t index, Bytes from, Bytes to);
  // The block of number `index`, at [from, to), is no longer in the range.
  void ReviseCachedStitches(RangeId id, size_t index, Bytes from, Bytes to, RangeId behind);
  void MoveLeases(RangeId from, RangeId to);
  bool Applies(CachedStitch* stitch, Bytes request) const;
  Blocker BlockerIn(const Block& block, Bytes from, Bytes to) const {
    return FindBlocker(*blocks_, *chunks_, block.home + from, block.home + to);
  }

  BlockTable* blocks_;
  ChunkStore* chunks_;
  std::vector<StitchedRange> ranges_;
  std::vector<RangeId> unused_;
  RangeRoom room_;
  StitchCache stitches_;
  Bytes mapped_bytes_;
  int64_t mappings_ = 0;
};

}  // namespace gmlake

#endif  // GMLAKE_CORE_RANGES_RANGE_TABLE_H_
