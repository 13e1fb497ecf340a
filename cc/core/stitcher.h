// Makes one contiguous range out of scattered free bytes.
//
// Choosing: whole free blocks, largest first, so that few handles are mapped. A block is mapped whole, but the first
// piece may be the free end of a block that is otherwise in use, and the last piece the free beginning of one: the lease
// then starts or stops inside the mapping, and nothing is wasted. Mapping: reserve, map each block, one SetAccess.
#ifndef GMLAKE_CORE_STITCHER_H_
#define GMLAKE_CORE_STITCHER_H_

#include <vector>

#include "cc/base/bytes.h"
#include "cc/base/status.h"
#include "cc/core/memory.h"
#include "cc/driver/driver.h"
#include "cc/driver/transaction.h"

namespace gmlake {

// A stitch before it is mapped: `pieces`, then new blocks for the `missing` bytes, then `tail` (if it has bytes).
struct Selection {
  std::vector<Piece> pieces;
  Bytes missing;
  Piece tail{kNone, Bytes(0), Bytes(0)};
};

// Thread rule: the allocator's lock. Cost of choosing: one step per free block; of mapping: 37 us per block.
class Stitcher {
 public:
  Stitcher(Driver* driver, Memory* memory) : driver_(driver), memory_(memory) {}

  Selection Choose(Bytes request) const;

  // Driver only: a new range over the blocks of `handles`.
  struct Mapping {
    BlockHandle handle;
    Bytes size;
  };
  StatusOr<Address> Execute(const std::vector<Mapping>& mappings, Transaction* transaction);

  // The most that Choose could find.
  Bytes Available() const;

 private:
  friend class StitchChoice;

  // What the free chunks offer: whole blocks, and the free ends of blocks in use.
  struct Offer {
    std::vector<Piece> whole;
    std::vector<Piece> suffixes;
    std::vector<Piece> prefixes;
  };
  Offer Survey() const;
  void SurveyChunk(const Chunk& chunk, Offer* offer) const;

  Driver* driver_;
  Memory* memory_;
};

}  // namespace gmlake

#endif  // GMLAKE_CORE_STITCHER_H_
