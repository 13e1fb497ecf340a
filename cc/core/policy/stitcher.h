// Makes one contiguous range out of scattered free bytes, in the order in which they will be mapped.
//
// Choosing: whole free blocks, largest first, so that few handles are mapped. A block is mapped whole, but the first
// piece may be the free end of a block that is otherwise in use, and the last piece the free beginning of one: the
// lease then starts or stops inside the mapping, and nothing is wasted. Nothing here calls the driver.
#ifndef GMLAKE_CORE_POLICY_STITCHER_H_
#define GMLAKE_CORE_POLICY_STITCHER_H_

#include <vector>

#include "cc/base/bytes.h"
#include "cc/core/policy/largest_first.h"
#include "cc/core/policy/open_granules.h"
#include "cc/core/ranges/memory.h"

namespace gmlake {

// A stitch before it is mapped: `pieces`, then new blocks for the `missing` bytes, then `tail` (if it has bytes).
struct Selection {
  std::vector<Piece> pieces;
  Bytes missing;
  Piece tail = kNoPiece;

  bool empty() const { return pieces.empty() && tail.block == kNone; }
};

// Thread rule: the allocator's lock. Cost: a survey takes one step per free block, and sorts the free ends; choosing
// takes one step per free block, and sorts about as many as it takes.
class Stitcher {
 public:
  explicit Stitcher(const Memory* memory) : memory_(memory) {}

  // What the free chunks offer: whole blocks, in no order, and the free ends of blocks in use, smallest first.
  struct Offer {
    std::vector<FreeBlock> whole;
    std::vector<Piece> suffixes;
    std::vector<Piece> prefixes;
  };
  Offer Survey() const;
  // What of it can be mapped at the end of a range: none of its blocks again, and nothing that does not begin at a
  // block's edge.
  Offer Behind(RangeId range, Offer offer) const;

  // `fills`: begins and ends in open granules if it can (open_granules.h), though that may take more pieces.
  Selection Choose(const Offer& offer, Bytes request, bool fills) const;
  bool HasOpenGranules(const Offer& offer) const;

  // The most that Choose could find; free bytes beyond that are of use to smaller requests only.
  Bytes Available() const;

  // The smallest free block of at least `size`, the lowest where equal; number kNone if there is none.
  FreeBlock SmallestWhole(Bytes size) const;
  // Free blocks of this size, by address.
  std::vector<FreeBlock> WholeBlocks(Bytes size) const;

 private:
  void SurveyChunk(const Chunk& chunk, Offer* offer) const;
  Selection ChooseFew(const Offer& offer, Bytes request) const;
  bool IsOfGranule(const Piece& end) const;
  OpenGranules OpenIn(const Offer& offer) const;
  void SortEnds(std::vector<Piece>* ends) const;
  static Bytes BestEnds(const Offer& offer);

  const Memory* memory_;
};

}  // namespace gmlake

#endif  // GMLAKE_CORE_POLICY_STITCHER_H_
