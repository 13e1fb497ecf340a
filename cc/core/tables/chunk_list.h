// Intervals of addresses in order, with the free ones in bins: split, coalesce, best fit.
//
// The free chunk before a range's last hole, its tail, is kept out of the bins: it is where the range grows. Taking it
// last makes the choice among the other chunks independent of how much has been grown, so that a step that comes again
// after everything was freed is laid out as it was the first time.
//
// Two of these exist per device: one over the primitive ranges (which tells a BlockTable where chunks begin) and one
// inside the slabs of the small pool. Neither knows of leases, streams or the driver.
#ifndef GMLAKE_CORE_TABLES_CHUNK_LIST_H_
#define GMLAKE_CORE_TABLES_CHUNK_LIST_H_

#include <string>
#include <vector>

#include "cc/core/tables/block_table.h"
#include "cc/core/tables/chunk.h"
#include "cc/core/tables/free_bins.h"

namespace gmlake {

// Invariant: the chunks of a region tile it; no two neighbours are both free, nor both holes; exactly the free chunks
// but the tails are in the bins. Thread rule: the allocator's lock. Cost: constant, but for the bins.
class ChunkList {
 public:
  // `blocks` may be null: then nobody asks which chunk a block begins in. `small` marks this list's chunks.
  ChunkList(ChunkStore* chunks, BlockTable* blocks, bool small) : chunks_(chunks), blocks_(blocks), small_(small) {}

  // Adds addresses that border on nothing else.
  ChunkId AddRegion(Address address, Bytes size, ChunkState state);
  // Drops a region that is one free chunk again.
  void RemoveRegion(ChunkId id);
  bool IsWholeRegion(ChunkId id) const;

  // The best fit that is not a tail, or kNone.
  ChunkId BestFit(Bytes size) const { return bins_.BestFit(size); }
  // Larger chunks that are not tails, some of each size, smallest first, until `visit(id)` returns true.
  template <typename Visit>
  void ForEachLarger(Bytes size, Visit visit) const {
    bins_.ForEachAbove(size, visit);
  }
  // The first tail with room for `size`, or kNone.
  ChunkId TailFit(Bytes size) const;
  // Makes `size` bytes at `offset` of a free chunk used.
  ChunkId Take(ChunkId free, Bytes offset, Bytes size);
  // Makes a used chunk free; the returned chunk includes its free neighbours.
  ChunkId Give(ChunkId used);
  // A part of a hole becomes free, or a part of a free chunk becomes a hole. The part is isolated but not yet
  // coalesced after Populate, so that blocks can be registered with it; FinishPopulate does the rest.
  ChunkId Populate(ChunkId hole, Bytes offset, Bytes size);
  ChunkId FinishPopulate(ChunkId opened);
  ChunkId Depopulate(ChunkId free, Bytes offset, Bytes size);
  // A part of a hole becomes used for good: addresses that must not be mapped again.
  void Retire(ChunkId hole, Bytes offset, Bytes size);

  // Calls `visit(chunk)` for every free chunk.
  template <typename Visit>
  void ForEachFree(Visit visit) const {
    for (ChunkId id : tails_) visit(at(id));
    bins_.ForEachFromLargest(Bytes(0), [&](const FreeBins::Entry& entry) { visit(at(entry.chunk)); });
  }
  Bytes LargestFree() const;
  Bytes free_bytes() const { return free_bytes_; }
  // Holes, lowest address first.
  const std::vector<ChunkId>& holes() const { return holes_; }

  // Says what is wrong with the list that `first` begins, or nothing.
  std::string CheckRegion(ChunkId first) const;

 private:
  std::string CheckChunk(const Chunk& chunk) const;
  std::string CheckNeighbours(ChunkId id, const Chunk& next) const;
  Chunk& at(ChunkId id) { return (*chunks_)[id]; }
  const Chunk& at(ChunkId id) const { return (*chunks_)[id]; }

  ChunkId TakeFront(ChunkId free, Bytes size);
  // Cuts a chunk of any state in two; returns the part from `offset` on, which gets a new number.
  ChunkId Cut(ChunkId id, Bytes offset);
  ChunkId Isolate(ChunkId id, Bytes offset, Bytes size);
  // Joins two neighbours of equal state; the left keeps its number.
  ChunkId Merge(ChunkId left, ChunkId right);
  ChunkId Coalesce(ChunkId id);
  void RebinBefore(ChunkId hole);
  bool IsTail(const Chunk& chunk) const;
  void BinFree(ChunkId id);
  void UnbinFree(ChunkId id);
  void Bin(ChunkId id);
  void Unbin(ChunkId id);

  ChunkStore* chunks_;
  BlockTable* blocks_;
  bool small_;
  FreeBins bins_;
  Bytes free_bytes_;
  std::vector<ChunkId> tails_;
  std::vector<ChunkId> holes_;
};

}  // namespace gmlake

#endif  // GMLAKE_CORE_TABLES_CHUNK_LIST_H_
