// Caches the chunk that made the last search for free bytes fail, so that repeating the search costs one cache line.
//
// The same stitched range is tried again and again, and mostly fails for the same reason. The cache needs no notice
// when the reason goes away: it is checked.
#ifndef GMLAKE_CORE_TABLES_BLOCKER_H_
#define GMLAKE_CORE_TABLES_BLOCKER_H_

#include "cc/base/bytes.h"
#include "cc/core/tables/block_table.h"
#include "cc/core/tables/chunk.h"

namespace gmlake {

// A used chunk that covers an address, or none.
struct Blocker {
  ChunkId chunk = kNone;
  Address at;

  // True if the byte at `at` is still in use. The number may name another chunk by now; a used one over `at` means the
  // same. False where it cannot tell.
  bool Stands(const ChunkStore& chunks) const {
    if (chunk == kNone) return false;
    const Chunk& one = chunks[chunk];
    return one.state == ChunkState::kUsed && one.address <= at && at < one.end();
  }
};

// The first used chunk or hole in [from, to), which lies in one block; none if all of it is free.
inline Blocker FindBlocker(const BlockTable& blocks, const ChunkStore& chunks, Address from, Address to) {
  const ChunkId id = blocks.ChunkAt(from);
  const Chunk& chunk = chunks[id];
  if (chunk.state != ChunkState::kFree) return {id, from};
  return chunk.end() < to ? Blocker{chunk.next, chunk.end()} : Blocker();
}

}  // namespace gmlake

#endif  // GMLAKE_CORE_TABLES_BLOCKER_H_
