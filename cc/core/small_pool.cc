#include "cc/core/small_pool.h"

namespace gmlake {

Placement SmallPool::Take(Bytes size) {
  const ChunkId free = list_.BestFit(size);
  if (free == kNone) return Placement();
  const ChunkId chunk = list_.Take(free, Bytes(0), size);
  return {chunk, Way::kSmall, memory_->chunks[chunk].address};
}

// Tries in this order: a slab with room, a free chunk that a slab fits in, a fragment, growth or a recut block.
StatusOr<Placement> SmallPool::Place(const Placer::Request& request, const Placer::Request& slab, Placer* placer) {
  const Placement small = Take(request.size);
  if (small.chunk != kNone) return small;
  ChunkId chunk = placer->TakeContiguous(slab);
  if (chunk == kNone) chunk = placer->TakeFragment(request.size, slab);
  if (chunk != kNone) return PlaceInSlab(chunk, request.size);
  const StatusOr<Placement> made = placer->Place(slab);
  if (made.ok()) return PlaceInSlab(made->chunk, request.size);
  return placer->Place(request);
}

StatusOr<Placement> SmallPool::PlaceInSlab(ChunkId slab, Bytes size) {
  AddSlab(slab);
  return Take(size);
}

void SmallPool::AddSlab(ChunkId slab) {
  const Chunk chunk = memory_->chunks[slab];
  slabs_.Insert(chunk.address, slab);
  list_.AddRegion(chunk.address, chunk.size, ChunkState::kFree);
}

void SmallPool::Give(ChunkId chunk) {
  const ChunkId free = list_.Give(chunk);
  if (list_.IsWholeRegion(free)) ReturnSlab(free);
}

void SmallPool::ReturnSlab(ChunkId region) {
  const Address address = memory_->chunks[region].address;
  list_.RemoveRegion(region);
  memory_->Give(slabs_.Erase(address));
}

}  // namespace gmlake
