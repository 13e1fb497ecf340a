// Seams: boundaries between two chunks inside a block of more than one granule.
//
// Most of the time only a part of a block with a seam is free. A stitch can use such a part as its first or last piece
// only. Near the limit this refuses requests although enough bytes are free, so new seams are placed between blocks or
// inside small ones. All functions here are pure.
#ifndef GMLAKE_CORE_TABLES_SEAM_H_
#define GMLAKE_CORE_TABLES_SEAM_H_

#include "cc/base/bytes.h"
#include "cc/core/tables/block_table.h"
#include "cc/core/tables/chunk.h"

namespace gmlake {

// The size of the block that a lease ending (or beginning) at `address` would put its first seam into; zero between
// blocks, inside a block that has a seam already, and inside a single granule.
inline Bytes SeamAt(const BlockTable& blocks, Address address) {
  const Block& block = blocks[blocks.At(address)];
  const bool costs = block.home != address && block.seams == 0 && blocks.granularity() < block.size;
  return costs ? block.size : Bytes(0);
}

// Where to put a lease in a free chunk.
struct Fit {
  Bytes offset;
  Bytes seam;  // size of the block that gets a seam
};

// At the front or at the back of the chunk, whichever puts a seam into the smaller block; the front if equal.
inline Fit FitWithFewestSeams(const BlockTable& blocks, const Chunk& chunk, Bytes size) {
  if (chunk.size == size) return {Bytes(0), Bytes(0)};
  const Bytes front = SeamAt(blocks, chunk.address + size);
  const Bytes back = SeamAt(blocks, chunk.end() - size);
  return back < front ? Fit{chunk.size - size, back} : Fit{Bytes(0), front};
}

}  // namespace gmlake

#endif  // GMLAKE_CORE_TABLES_SEAM_H_
