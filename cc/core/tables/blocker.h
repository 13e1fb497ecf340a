// What was in the way when somebody last looked for free bytes, so that looking again in vain costs one cache line.
//
// Whether a stitched range can be used is asked of the chunks under it, again and again, and mostly the answer is the
// same no for the same reason. That reason is worth remembering; nothing has to be told when it goes away.
#ifndef GMLAKE_CORE_TABLES_BLOCKER_H_
#define GMLAKE_CORE_TABLES_BLOCKER_H_

#include "cc/base/bytes.h"
#include "cc/core/tables/block_table.h"
#include "cc/core/tables/chunk.h"

namespace gmlake {

// A used chunk over an address; or nothing.
struct Blocker {
  ChunkId chunk = kNone;
  Address at;

  // Is the byte at `at` still in use? If the chunk's number now names another one, that says as much if it is over
  // `at`. False where it cannot tell.
  bool Stands(const ChunkStore& chunks) const {
    if (chunk == kNone) return false;
    const Chunk& one = chunks[chunk];
    return one.state == ChunkState::kUsed && one.address <= at && at < one.end();
  }
};

// The first that keeps [from, to), which lies in one block, from being free.
inline Blocker FindBlocker(const BlockTable& blocks, const ChunkStore& chunks, Address from, Address to) {
  const ChunkId id = blocks.ChunkAt(from);
  const Chunk& chunk = chunks[id];
  if (chunk.state != ChunkState::kFree) return {id, from};
  return chunk.end() < to ? Blocker{chunk.next, chunk.end()} : Blocker();
}

}  // namespace gmlake

#endif  // GMLAKE_CORE_TABLES_BLOCKER_H_
