#include "cc/emulator/physical_blocks.h"

#include "cc/emulator/log.h"

namespace gmlake::emulator {

CUresult PhysicalBlocks::Create(size_t size, const CUmemAllocationProp& properties, BlockHandle* handle) {
  const bool on_device = properties.location.type == CU_MEM_LOCATION_TYPE_DEVICE;
  const int device = properties.location.id;
  if (size == 0 || size % kGranule != 0 || properties.type != CU_MEM_ALLOCATION_TYPE_PINNED) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  if (!on_device || device < 0 || device >= static_cast<int>(memory_->size())) return CUDA_ERROR_INVALID_VALUE;
  if (properties.requestedHandleTypes != CU_MEM_HANDLE_TYPE_NONE) return CUDA_ERROR_NOT_SUPPORTED;
  std::vector<Extent> extents = (*memory_)[device].Take(size);
  if (extents.empty()) return CUDA_ERROR_OUT_OF_MEMORY;
  *handle = next_++;
  blocks_.emplace(*handle, PhysicalBlock{size, device, properties, std::move(extents)});
  return CUDA_SUCCESS;
}

const PhysicalBlock* PhysicalBlocks::Find(BlockHandle handle) const {
  const auto found = blocks_.find(handle);
  return found == blocks_.end() ? nullptr : &found->second;
}

const PhysicalBlock* PhysicalBlocks::FindHeld(BlockHandle handle) const {
  const PhysicalBlock* block = Find(handle);
  return block != nullptr && block->holders > 0 ? block : nullptr;
}

CUresult PhysicalBlocks::Retain(BlockHandle handle) {
  blocks_.at(handle).holders++;
  return CUDA_SUCCESS;
}

CUresult PhysicalBlocks::Release(BlockHandle handle) {
  if (FindHeld(handle) == nullptr) {
    Violation(Rule::kRelease, "cuMemRelease of 0x%llx, which is not held", handle);
    return CUDA_ERROR_INVALID_VALUE;
  }
  blocks_.at(handle).holders--;
  FreeIfUnused(handle);
  return CUDA_SUCCESS;
}

void PhysicalBlocks::AddMapping(BlockHandle handle) { blocks_.at(handle).mappings++; }

void PhysicalBlocks::DropMapping(BlockHandle handle) {
  blocks_.at(handle).mappings--;
  FreeIfUnused(handle);
}

void PhysicalBlocks::FreeIfUnused(BlockHandle handle) {
  const PhysicalBlock& block = blocks_.at(handle);
  if (block.holders > 0 || block.mappings > 0) return;
  (*memory_)[block.device].Give(block.extents);
  blocks_.erase(handle);
}

}  // namespace gmlake::emulator
