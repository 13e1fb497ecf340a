// The physical blocks and where each is at home.
//
// A block's home is its place in a primitive range. The table answers "which block is at this address" in constant time
// through one entry per granule, and remembers for every block the chunk that covers its first byte, which is how a
// stitched range finds out whether its bytes are free. It makes no driver call.
#ifndef GMLAKE_CORE_BLOCK_TABLE_H_
#define GMLAKE_CORE_BLOCK_TABLE_H_

#include <vector>

#include "cc/base/bytes.h"
#include "cc/core/chunk.h"
#include "cc/driver/driver.h"

namespace gmlake {

struct Block {
  BlockHandle handle;
  Address home;
  Bytes size;
  ChunkId first_chunk = kNone;    // covers the byte at `home`
  std::vector<RangeId> aliases;  // stitched ranges that map it too
  int32_t seams = 0;             // chunk boundaries inside it
  bool pinned = false;           // a mapping of it would not come off: usable, but never released
  bool quarantined = false;      // in doubt: never to be used again

  Address end() const { return home + size; }
};

struct PrimitiveRange {
  Address base;
  Bytes size;
  std::vector<BlockId> granules;  // which block; grows with use
};

// Invariant: blocks do not overlap, and first_chunk and seams follow every split and merge. The granularity is a power
// of two.
// Thread rule: the allocator's lock. Cost: constant per look-up, one step per block that begins in what is cut or merged.
class BlockTable {
 public:
  explicit BlockTable(Bytes granularity)
      : granularity_(granularity), shift_(__builtin_ctzll(static_cast<uint64_t>(granularity.count()))) {}

  void AddRange(Address base, Bytes size) { ranges_.push_back({base, size, {}}); }
  const std::vector<PrimitiveRange>& ranges() const { return ranges_; }

  BlockId Add(BlockHandle handle, Address home, Bytes size, ChunkId first_chunk);
  void Remove(BlockId id);

  Block& operator[](BlockId id) { return blocks_[id]; }
  const Block& operator[](BlockId id) const { return blocks_[id]; }

  // The block at `address`, or kNone where there is no block.
  BlockId At(Address address) const {
    const PrimitiveRange* range = RangeOf(address);
    if (range == nullptr) return kNone;
    const size_t granule = GranuleOf(*range, address);
    return granule < range->granules.size() ? range->granules[granule] : kNone;
  }

  // A boundary between two chunks came up, or went away, at `at`; the bytes [from, to) on one side of it are now covered
  // by `chunk`.
  void OnCut(Address at, Address from, Address to, ChunkId chunk) { Move(at, from, to, chunk, /*seams=*/1); }
  void OnMerge(Address at, Address from, Address to, ChunkId chunk) { Move(at, from, to, chunk, /*seams=*/-1); }
  // Total of the blocks larger than a granule with a seam in them: the most that could ever be free but of no use.
  Bytes seamed_bytes() const { return seamed_bytes_; }

  Bytes granularity() const { return granularity_; }
  int64_t count() const { return static_cast<int64_t>(blocks_.size() - unused_.size()); }
  Bytes bytes() const { return bytes_; }

  // Calls `visit(id)` for every block, by address within each primitive range.
  template <typename Visit>
  void ForEach(Visit visit) const {
    for (const PrimitiveRange& range : ranges_) {
      BlockId last = kNone;
      for (BlockId id : range.granules) {
        if (id != kNone && id != last) visit(id);
        last = id;
      }
    }
  }

 private:
  const PrimitiveRange* RangeOf(Address address) const {
    for (const PrimitiveRange& range : ranges_) {
      if (range.base <= address && address < range.base + range.size) return &range;
    }
    return nullptr;
  }
  size_t GranuleOf(const PrimitiveRange& range, Address address) const {
    return static_cast<size_t>((address - range.base).count() >> shift_);
  }

  // Most chunks lie inside one block, and then that block is all there is to look at.
  void Move(Address at, Address from, Address to, ChunkId chunk, int32_t seams) {
    const BlockId id = At(at);
    if (id == kNone) return;
    Block& block = blocks_[id];
    if (block.home != at) {
      CountSeams(&block, seams);
    } else if (from == at) {
      block.first_chunk = chunk;
    }
    if (from == at && block.end() < to) Repoint(block.end(), to, chunk);
    if (from < at && from <= block.home) Repoint(from, at, chunk);
  }
  void CountSeams(Block* block, int32_t seams) {
    const bool was_seamed = block->seams > 0;
    block->seams += seams;
    if (was_seamed == (block->seams > 0) || block->size == granularity_) return;
    seamed_bytes_ += was_seamed ? Bytes(0) - block->size : block->size;
  }
  // Blocks whose first byte lies in [from, to) are now covered by `chunk`.
  void Repoint(Address from, Address to, ChunkId chunk);
  void Mark(const Block& block, BlockId id);

  Bytes granularity_;
  int shift_;  // the granularity's logarithm
  std::vector<PrimitiveRange> ranges_;
  std::vector<Block> blocks_;
  std::vector<BlockId> unused_;
  Bytes bytes_;
  Bytes seamed_bytes_;
};

}  // namespace gmlake

#endif  // GMLAKE_CORE_BLOCK_TABLE_H_
