// Driver entry points: virtual memory management. The rules are in address_map.cc and physical_blocks.cc.
//
// An H200 allows all of these during a capture.
#include "cc/emulator/calls/calls.h"
#include "cc/emulator/calls/cuda_api.h"
#include "cc/emulator/calls/log.h"
#include "cc/emulator/device/machine.h"
#include "cc/emulator/streams/streams.h"

namespace gmlake::emulator {
namespace {

// The call does not wait for the device, so whoever unmaps must have proof that nothing queued touches the range.
void CheckNothingPending(uint64_t begin, size_t size) {
  const std::string pending = FindPendingWork(begin, size);
  if (pending.empty()) return;
  Violation(Rule::kUnmapInUse, "cuMemUnmap(0x%lx, %zu) while \"%s\" is queued", begin, size, pending.c_str());
}

}  // namespace
}  // namespace gmlake::emulator

using namespace gmlake::emulator;  // NOLINT: entry points are in the global namespace

CUresult CUDAAPI cuMemGetAllocationGranularity(size_t* granularity, const CUmemAllocationProp* properties,
                                               CUmemAllocationGranularity_flags) {
  GMLAKE_ENTRY();
  if (granularity == nullptr || properties == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *granularity = kGranule;
  return CUDA_SUCCESS;
}

CUresult CUDAAPI cuMemAddressReserve(CUdeviceptr* address, size_t size, size_t alignment, CUdeviceptr,
                                     unsigned long long) {
  GMLAKE_ENTRY();
  std::lock_guard<std::mutex> lock(machine().mutex);
  uint64_t begin = 0;
  const CUresult reserved = machine().map.Reserve(size, alignment, &begin);
  if (reserved == CUDA_SUCCESS) *address = begin;
  return reserved;
}

CUresult CUDAAPI cuMemAddressFree(CUdeviceptr address, size_t size) {
  GMLAKE_ENTRY();
  std::lock_guard<std::mutex> lock(machine().mutex);
  return machine().map.Free(address, size);
}

CUresult CUDAAPI cuMemCreate(CUmemGenericAllocationHandle* handle, size_t size, const CUmemAllocationProp* properties,
                             unsigned long long) {
  GMLAKE_ENTRY();
  std::lock_guard<std::mutex> lock(machine().mutex);
  return machine().blocks.Create(size, *properties, handle);
}

CUresult CUDAAPI cuMemRelease(CUmemGenericAllocationHandle handle) {
  GMLAKE_ENTRY();
  std::lock_guard<std::mutex> lock(machine().mutex);
  return machine().blocks.Release(handle);
}

CUresult CUDAAPI cuMemMap(CUdeviceptr address, size_t size, size_t offset, CUmemGenericAllocationHandle handle,
                          unsigned long long) {
  GMLAKE_ENTRY();
  std::lock_guard<std::mutex> lock(machine().mutex);
  return machine().map.Map(address, size, offset, handle);
}

CUresult CUDAAPI cuMemSetAccess(CUdeviceptr address, size_t size, const CUmemAccessDesc* access, size_t count) {
  GMLAKE_ENTRY();
  std::lock_guard<std::mutex> lock(machine().mutex);
  for (size_t i = 0; i < count; ++i) {
    const CUresult set = machine().map.SetAccess(address, size, access[i].location.id, access[i].flags);
    if (set != CUDA_SUCCESS) return set;
  }
  return CUDA_SUCCESS;
}

CUresult CUDAAPI cuMemGetAccess(unsigned long long* flags, const CUmemLocation* location, CUdeviceptr address) {
  GMLAKE_ENTRY();
  std::lock_guard<std::mutex> lock(machine().mutex);
  const Mapping* mapping = machine().map.FindMapping(address);
  if (mapping == nullptr || !machine().has_device(location->id)) return CUDA_ERROR_INVALID_VALUE;
  *flags = mapping->access[location->id];
  return CUDA_SUCCESS;
}

CUresult CUDAAPI cuMemUnmap(CUdeviceptr address, size_t size) {
  GMLAKE_ENTRY();
  CheckNothingPending(address, size);
  ExclusiveAccess access;
  return machine().map.Unmap(address, size);
}

CUresult CUDAAPI cuMemRetainAllocationHandle(CUmemGenericAllocationHandle* handle, void* address) {
  GMLAKE_ENTRY();
  std::lock_guard<std::mutex> lock(machine().mutex);
  const Mapping* mapping = machine().map.FindMapping(reinterpret_cast<uint64_t>(address));
  if (mapping == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *handle = mapping->block;
  return machine().blocks.Retain(mapping->block);
}

CUresult CUDAAPI cuMemGetAllocationPropertiesFromHandle(CUmemAllocationProp* properties,
                                                        CUmemGenericAllocationHandle handle) {
  GMLAKE_ENTRY();
  std::lock_guard<std::mutex> lock(machine().mutex);
  const PhysicalBlock* block = machine().blocks.FindHeld(handle);
  if (block == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *properties = block->properties;
  return CUDA_SUCCESS;
}
