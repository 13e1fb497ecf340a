// The smallest unit of bookkeeping: an interval of a primitive range's addresses, and so of physical bytes.
//
// Every physical block has exactly one home in a primitive range, hence a byte of a block and an address of a primitive
// range name the same thing. Owning physical bytes means owning chunks, whatever address the owner uses.
#ifndef GMLAKE_CORE_TABLES_CHUNK_H_
#define GMLAKE_CORE_TABLES_CHUNK_H_

#include <cstdint>
#include <vector>

#include "cc/base/bytes.h"

namespace gmlake {

using ChunkId = int32_t;
using BlockId = int32_t;
using RangeId = int32_t;
inline constexpr int32_t kNone = -1;

enum class ChunkState : uint8_t {
  kFree,  // mapped, nobody's
  kUsed,  // leased, or a slab of the small pool
  kHole,  // addresses without a block
};

// One cache line, because a request or a free touches a few of these and little else.
struct alignas(64) Chunk {
  Address address;
  Bytes size;
  Bytes requested;           // first piece of a lease: as asked for
  Address leased_at;         // the same: where the caller sees it
  int64_t freed = 0;         // Memory::epoch() when the last of its bytes came free
  ChunkId previous = kNone;  // neighbours by address
  ChunkId next = kNone;
  ChunkId next_piece = kNone;  // the same lease goes on there
  RangeId range = kNone;       // the stitched range through which it is leased
  ChunkState state = ChunkState::kFree;
  bool small = false;  // lives in the small pool
  bool tail = false;   // free, and only the last hole of its range comes after it

  Address end() const { return address + size; }
};

// Model: chunks by number, freed numbers used again. Invariant: a number handed out stays valid until Remove.
// Thread rule: the allocator's lock. Cost: constant, no heap traffic once warm.
class ChunkStore {
 public:
  ChunkId Add() {
    if (unused_.empty()) {
      chunks_.emplace_back();
      return static_cast<ChunkId>(chunks_.size() - 1);
    }
    const ChunkId id = unused_.back();
    unused_.pop_back();
    chunks_[id] = Chunk();
    return id;
  }
  void Remove(ChunkId id) { unused_.push_back(id); }
  Chunk& operator[](ChunkId id) { return chunks_[id]; }
  const Chunk& operator[](ChunkId id) const { return chunks_[id]; }
  int64_t count() const { return static_cast<int64_t>(chunks_.size() - unused_.size()); }

 private:
  std::vector<Chunk> chunks_;
  std::vector<ChunkId> unused_;
};

}  // namespace gmlake

#endif  // GMLAKE_CORE_TABLES_CHUNK_H_
