#include "cc/core/small_pool.h"

namespace gmlake {

ChunkId SmallPool::Take(Bytes size) {
  const ChunkId free = list_.BestFit(size);
  return free == kNone ? kNone : list_.Take(free, Bytes(0), size);
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
