#include "cc/emulator/memory/physical_blocks.h"

#include "cc/emulator/calls/log.h"

namespace gmlake::emulator {
namespace {

// CUDA_SUCCESS if blocks of that kind exist here. In fabric handles it is as on a machine whose GPUs are in no fabric:
// the device's attribute promises them, the call refuses them.
CUresult CheckProperties(const CUmemAllocationProp& properties, size_t num_devices) {
  if (properties.type != CU_MEM_ALLOCATION_TYPE_PINNED) return CUDA_ERROR_INVALID_VALUE;
  if (properties.location.type != CU_MEM_LOCATION_TYPE_DEVICE) return CUDA_ERROR_INVALID_VALUE;
  if (static_cast<size_t>(properties.location.id) >= num_devices) return CUDA_ERROR_INVALID_VALUE;
  const bool wants_fabric = (properties.requestedHandleTypes & CU_MEM_HANDLE_TYPE_FABRIC) != 0;
  return wants_fabric ? CUDA_ERROR_NOT_PERMITTED : CUDA_SUCCESS;
}

}  // namespace

CUresult PhysicalBlocks::Create(size_t size, const CUmemAllocationProp& properties, BlockHandle* handle) {
  if (size == 0 || size % kGranule != 0) return CUDA_ERROR_INVALID_VALUE;
  const CUresult allowed = CheckProperties(properties, memory_->size());
  if (allowed != CUDA_SUCCESS) return allowed;
  const int device = properties.location.id;
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
