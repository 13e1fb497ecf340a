// Physical blocks by handle: what cuMemCreate makes. A block lives while it is held (handles) or mapped.
#ifndef GMLAKE_EMULATOR_MEMORY_PHYSICAL_BLOCKS_H_
#define GMLAKE_EMULATOR_MEMORY_PHYSICAL_BLOCKS_H_

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "cc/emulator/calls/cuda_api.h"
#include "cc/emulator/memory/physical_memory.h"

namespace gmlake::emulator {

using BlockHandle = CUmemGenericAllocationHandle;

struct PhysicalBlock {
  size_t size;
  int device;
  CUmemAllocationProp properties;
  std::vector<Extent> extents;
  int holders = 1;  // cuMemCreate and cuMemRetainAllocationHandle, less cuMemRelease
  int mappings = 0;
};

// Thread rule: the machine's lock.
class PhysicalBlocks {
 public:
  explicit PhysicalBlocks(std::vector<PhysicalMemory>* memory) : memory_(memory) {}

  CUresult Create(size_t size, const CUmemAllocationProp& properties, BlockHandle* handle);
  CUresult Retain(BlockHandle handle);
  CUresult Release(BlockHandle handle);
  void AddMapping(BlockHandle handle);
  void DropMapping(BlockHandle handle);

  // Null if there is no such block, or (for FindHeld) nobody holds it any more.
  const PhysicalBlock* Find(BlockHandle handle) const;
  const PhysicalBlock* FindHeld(BlockHandle handle) const;
  size_t count() const { return blocks_.size(); }

 private:
  void FreeIfUnused(BlockHandle handle);

  std::vector<PhysicalMemory>* memory_;  // by device
  std::unordered_map<BlockHandle, PhysicalBlock> blocks_;
  BlockHandle next_ = 0x1000;
};

}  // namespace gmlake::emulator

#endif  // GMLAKE_EMULATOR_MEMORY_PHYSICAL_BLOCKS_H_
