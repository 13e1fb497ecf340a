// Small requests, packed at 256 bytes into slabs, so that a long-lived crumb does not pin a large block.
//
// A slab is a used chunk of the large space. It goes back as soon as its last lease is freed, so that what is free
// stays a function of what is leased. The pool makes no driver call and does not decide where slabs come from.
#ifndef GMLAKE_CORE_SMALL_POOL_H_
#define GMLAKE_CORE_SMALL_POOL_H_

#include "cc/base/bytes.h"
#include "cc/core/ranges/memory.h"
#include "cc/core/tables/chunk.h"
#include "cc/core/tables/chunk_list.h"
#include "cc/core/tables/lease_table.h"

namespace gmlake {

// Invariant: every slab holds at least one lease. Thread rule: the allocator's lock. Cost: as ChunkList.
class SmallPool {
 public:
  explicit SmallPool(Memory* memory)
      : memory_(memory), list_(&memory->chunks, nullptr, /*small=*/true), slabs_(&memory->chunks) {}

  static constexpr Bytes kThreshold = KiB(256);  // smaller requests come here
  static constexpr Bytes kSlabSize = MiB(2);

  // A used chunk of the pool, or kNone where no slab has the room.
  ChunkId Take(Bytes size);
  void AddSlab(ChunkId slab);
  void Give(ChunkId chunk);

  int64_t num_slabs() const { return slabs_.count(); }
  Bytes free_bytes() const { return list_.free_bytes(); }

 private:
  void ReturnSlab(ChunkId region);

  Memory* memory_;
  ChunkList list_;
  LeaseTable slabs_;  // the slabs' chunks in the large space
};

}  // namespace gmlake

#endif  // GMLAKE_CORE_SMALL_POOL_H_
