// Serves small requests: packs them at 256 bytes into slabs, so that a small lease that lives long does not keep a
// large block in use.
//
// A slab is a used chunk of the large space, and the placer finds it. The pool gives a slab back as soon as its last
// lease is freed, so what is free depends only on what is leased.
#ifndef GMLAKE_CORE_SMALL_POOL_H_
#define GMLAKE_CORE_SMALL_POOL_H_

#include "cc/base/bytes.h"
#include "cc/base/status.h"
#include "cc/core/placer.h"
#include "cc/core/ranges/memory.h"
#include "cc/core/tables/chunk.h"
#include "cc/core/tables/chunk_list.h"
#include "cc/core/tables/lease_table.h"

namespace gmlake {

// Model: slabs, each divided into free and used chunks. Invariant: every slab holds at least one lease. Thread rule:
// the allocator's lock. Cost: as ChunkList; a new slab costs what the placer needs for it.
class SmallPool {
 public:
  explicit SmallPool(Memory* memory)
      : memory_(memory), list_(&memory->chunks, nullptr, /*small=*/true), slabs_(&memory->chunks) {}

  static constexpr Bytes kThreshold = KiB(256);  // smaller requests come here
  static constexpr Bytes kSlabSize = MiB(2);

  // Room in a slab that exists. No chunk: no slab has room.
  Placement Take(Bytes size);
  // Room in a slab, new or not; without any, a lease of its own in the large space. `slab`: the request for a slab.
  StatusOr<Placement> Place(const Placer::Request& request, const Placer::Request& slab, Placer* placer);
  void Give(ChunkId chunk);

  Bytes free_bytes() const { return list_.free_bytes(); }

 private:
  StatusOr<Placement> PlaceInSlab(ChunkId slab, Bytes size);
  void AddSlab(ChunkId slab);
  void ReturnSlab(ChunkId region);

  Memory* memory_;
  ChunkList list_;
  LeaseTable slabs_;  // the slabs' chunks in the large space
};

}  // namespace gmlake

#endif  // GMLAKE_CORE_SMALL_POOL_H_
