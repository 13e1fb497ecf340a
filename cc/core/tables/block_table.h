// The physical blocks and the home of each.
//
// A home is a place in a primitive range. One entry per granule gives the block at an address in constant time, and the
// chunk: a stitched range learns from it whether its bytes are free. The table makes no driver call.
#ifndef GMLAKE_CORE_TABLES_BLOCK_TABLE_H_
#define GMLAKE_CORE_TABLES_BLOCK_TABLE_H_

#include <algorithm>
#include <vector>

#include "cc/base/bytes.h"
#include "cc/core/tables/chunk.h"
#include "cc/core/tables/free_log.h"
#include "cc/driver/driver.h"

namespace gmlake {

struct Block {
  BlockHandle handle;
  Address home;
  Bytes size;
  std::vector<RangeId> aliases;  // stitched ranges that map it too
  int32_t seams = 0;             // chunk boundaries inside it
  bool pinned = false;           // a mapping of it would not come off: usable, but never released
  bool quarantined = false;      // in doubt: never to be used again

  Address end() const { return home + size; }
};

struct Granule {
  BlockId block = kNone;
  ChunkId chunk = kNone;  // the first that begins in it
};

struct PrimitiveRange {
  Address base;
  Bytes size;                     // one granule less than was reserved (Grower)
  std::vector<Granule> granules;  // grows with use
  std::vector<uint64_t> marks;    // one bit per granule: a chunk begins in it
};

// Invariant: blocks do not overlap; granules, marks and seams follow every split and merge. The granularity is a power
// of two. Thread rule: the allocator's lock. Cost: constant; a look-up of a chunk passes one bit per granule, 64 in a
// step, back to where the chunk begins.
class BlockTable {
 public:
  BlockTable(Bytes granularity, const ChunkStore* chunks)
      : granularity_(granularity),
        chunks_(chunks),
        shift_(__builtin_ctzll(static_cast<uint64_t>(granularity.count()))) {}

  void AddRange(Address base, Bytes size) { ranges_.push_back({base, size, {}, {}}); }
  // As they were reserved, with the granule after each range.
  Bytes address_bytes() const {
    Bytes bytes(0);
    for (const PrimitiveRange& range : ranges_) bytes += range.size + granularity_;
    return bytes;
  }
  const std::vector<PrimitiveRange>& ranges() const { return ranges_; }

  BlockId Add(BlockHandle handle, Address home, Bytes size);
  void Remove(BlockId id);

  Block& operator[](BlockId id) { return blocks_[id]; }
  const Block& operator[](BlockId id) const { return blocks_[id]; }

  // The block at `address`, or kNone where there is no block.
  BlockId At(Address address) const {
    const PrimitiveRange* range = RangeOf(address);
    if (range == nullptr) return kNone;
    const size_t granule = GranuleOf(*range, address);
    return granule < range->granules.size() ? range->granules[granule].block : kNone;
  }

  // The chunk that covers `address`, which lies in a block.
  ChunkId ChunkAt(Address address) const {
    const PrimitiveRange& range = *RangeOf(address);
    const size_t granule = GranuleOf(range, address);
    ChunkId id = range.granules[granule].chunk;
    if (id == kNone) id = range.granules[MarkBefore(range, granule)].chunk;
    if (address < (*chunks_)[id].address) return (*chunks_)[id].previous;
    while ((*chunks_)[id].end() <= address) id = (*chunks_)[id].next;
    return id;
  }

  // `chunk` is all of a range.
  void OnRegion(Address base, ChunkId chunk) {
    if (PrimitiveRange* range = RangeOf(base)) Begin(range, 0, chunk);
  }
  // A chunk that begins at `before` was cut at `at`, where `chunk` begins now.
  void OnCut(Address before, Address at, ChunkId chunk) {
    PrimitiveRange* range = RangeOf(at);
    if (range == nullptr) return;
    const size_t granule = GranuleOf(*range, at);
    if (GranuleOf(*range, before) != granule) Begin(range, granule, chunk);
    CountSeam(range->granules, granule, at, 1);
  }
  // The chunk that begins at `before` took in the one that began at `at`; `next` (or none) begins at `after`.
  void OnMerge(Address before, Address at, Address after, ChunkId next) {
    PrimitiveRange* range = RangeOf(at);
    if (range == nullptr) return;
    const size_t granule = GranuleOf(*range, at);
    CountSeam(range->granules, granule, at, -1);
    if (GranuleOf(*range, before) == granule) return;
    if (next != kNone && GranuleOf(*range, after) == granule) {
      range->granules[granule].chunk = next;
    } else {
      End(range, granule);
    }
  }
  // A used chunk comes free.
  void OnGive(const Chunk& chunk) { freed_.Add(chunk.address, chunk.end()); }
  const FreeLog& freed() const { return freed_; }
  void ForgetFreed() { freed_.Clear(); }

  // Total of the blocks larger than a granule with a seam in them: the most that could ever be free but of no use.
  Bytes seamed_bytes() const { return seamed_bytes_; }

  Bytes granularity() const { return granularity_; }
  int64_t count() const { return static_cast<int64_t>(blocks_.size() - unused_.size()); }
  Bytes bytes() const { return bytes_; }

  // Calls `visit(id)` for every block that has some of [from, to), by address. Where there once was one, there may be
  // none.
  template <typename Visit>
  void ForEachIn(Address from, Address to, Visit visit) const {
    const PrimitiveRange& range = *RangeOf(from);
    const size_t end = std::min(GranuleOf(range, to - Bytes(1)) + 1, range.granules.size());
    for (size_t granule = GranuleOf(range, from); granule < end;) {
      const BlockId id = range.granules[granule].block;
      if (id != kNone) visit(id);
      granule = id == kNone ? granule + 1 : GranuleOf(range, blocks_[id].end());
    }
  }

  // Calls `visit(id)` for every block, by address within each primitive range.
  template <typename Visit>
  void ForEach(Visit visit) const {
    for (const PrimitiveRange& range : ranges_) {
      BlockId last = kNone;
      for (const Granule& granule : range.granules) {
        if (granule.block != kNone && granule.block != last) visit(granule.block);
        last = granule.block;
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
  PrimitiveRange* RangeOf(Address address) {
    return const_cast<PrimitiveRange*>(static_cast<const BlockTable*>(this)->RangeOf(address));
  }
  size_t GranuleOf(const PrimitiveRange& range, Address address) const {
    return static_cast<size_t>((address - range.base).count() >> shift_);
  }

  // The last marked granule before `granule`. The first one of a range is always marked.
  static size_t MarkBefore(const PrimitiveRange& range, size_t granule) {
    size_t word = granule / 64;
    uint64_t marks = range.marks[word] & ((uint64_t{1} << (granule % 64)) - 1);
    while (marks == 0) marks = range.marks[--word];
    return word * 64 + 63 - static_cast<size_t>(__builtin_clzll(marks));
  }
  void Begin(PrimitiveRange* range, size_t granule, ChunkId chunk) {
    if (range->granules.size() <= granule) Reach(range, granule + 1);
    range->granules[granule].chunk = chunk;
    range->marks[granule / 64] |= uint64_t{1} << (granule % 64);
  }
  void End(PrimitiveRange* range, size_t granule) {
    range->granules[granule].chunk = kNone;
    range->marks[granule / 64] &= ~(uint64_t{1} << (granule % 64));
  }
  void Reach(PrimitiveRange* range, size_t granules);

  // A seam came up (1) or went away (-1), unless it is where a block begins.
  void CountSeam(const std::vector<Granule>& granules, size_t granule, Address at, int32_t seams) {
    const BlockId id = granule < granules.size() ? granules[granule].block : kNone;
    if (id != kNone && blocks_[id].home != at) CountSeams(&blocks_[id], seams);
  }
  void CountSeams(Block* block, int32_t seams) {
    const bool was_seamed = block->seams > 0;
    block->seams += seams;
    if (was_seamed == (block->seams > 0) || block->size == granularity_) return;
    seamed_bytes_ += was_seamed ? Bytes(0) - block->size : block->size;
  }
  void Mark(const Block& block, BlockId id);

  Bytes granularity_;
  const ChunkStore* chunks_;
  int shift_;  // the granularity's logarithm
  std::vector<PrimitiveRange> ranges_;
  std::vector<Block> blocks_;
  std::vector<BlockId> unused_;
  Bytes bytes_;
  Bytes seamed_bytes_;
  FreeLog freed_;
};

}  // namespace gmlake

#endif  // GMLAKE_CORE_TABLES_BLOCK_TABLE_H_
