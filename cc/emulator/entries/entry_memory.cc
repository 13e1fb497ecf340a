// Driver entry points: plain device memory, host memory, what a pointer is, and the refusal to share it.
#include <cstdlib>

#include "cc/emulator/calls/calls.h"
#include "cc/emulator/calls/cuda_api.h"
#include "cc/emulator/calls/log.h"
#include "cc/emulator/device/context.h"
#include "cc/emulator/device/machine.h"
#include "cc/emulator/streams/capture.h"
#include "cc/emulator/streams/streams.h"

namespace gmlake::emulator {
namespace {

constexpr size_t kPageSize = 4096;

CUresult AllocatePlain(CUdeviceptr* address, size_t size) {
  if (size == 0) return CUDA_ERROR_INVALID_VALUE;
  ExclusiveAccess access;
  const int device = CurrentDevice();
  MemoryPool* plain = machine().devices[device].plain.get();
  const std::optional<uint64_t> begin = plain->Allocate(size);
  if (!begin) return CUDA_ERROR_OUT_OF_MEMORY;
  machine().allocations.Add(*begin, size, Kind::kPlain, device, plain);
  *address = *begin;
  return CUDA_SUCCESS;
}

// Also frees pool memory, as cuMemFree may.
CUresult FreeDevice(uint64_t address) {
  DrainAllDevices();
  ExclusiveAccess access;
  const Allocation* allocation = machine().allocations.FindExact(address);
  if (allocation == nullptr || allocation->is_host()) {
    Violation(Rule::kFree, "cuMemFree of 0x%lx, which is not allocated", address);
    return CUDA_ERROR_INVALID_VALUE;
  }
  allocation->pool->Free(allocation->begin, allocation->size);
  allocation->pool->ReleaseDownToThreshold();
  machine().allocations.Remove(address);
  return CUDA_SUCCESS;
}

CUresult AllocatePinned(void** address, size_t size) {
  if (posix_memalign(address, kPageSize, size == 0 ? 1 : size) != 0) return CUDA_ERROR_OUT_OF_MEMORY;
  std::lock_guard<std::mutex> lock(machine().mutex);
  machine().allocations.Add(reinterpret_cast<uint64_t>(*address), size, Kind::kPinned, CurrentDevice(), nullptr);
  return CUDA_SUCCESS;
}

bool ForgetHost(void* address, Kind kind) {
  std::lock_guard<std::mutex> lock(machine().mutex);
  const uint64_t begin = reinterpret_cast<uint64_t>(address);
  const Allocation* allocation = machine().allocations.FindExact(begin);
  if (allocation == nullptr || allocation->kind != kind) return false;
  machine().allocations.Remove(begin);
  return true;
}

// What the driver tells about a pointer; `is_known` is false for memory that it did not make.
struct PointerFacts {
  bool is_known = false, is_host = false, is_mapping = false;
  uint64_t begin = 0, id = 0, reservation_begin = 0;
  size_t size = 0, reservation_size = 0;
  int device = -2;
  MemoryPool* pool = nullptr;
};

PointerFacts FactsOfAllocation(const Allocation& allocation) {
  PointerFacts facts;
  facts.is_known = true;
  facts.is_host = allocation.is_host();
  facts.begin = facts.reservation_begin = allocation.begin;
  facts.size = facts.reservation_size = allocation.size;
  facts.id = allocation.id;
  facts.device = allocation.device;
  facts.pool = allocation.kind == Kind::kPool ? allocation.pool : nullptr;
  return facts;
}

PointerFacts FactsOfMapping(const Mapping& mapping, const Reservation& reservation) {
  PointerFacts facts;
  facts.is_known = facts.is_mapping = true;
  facts.begin = mapping.begin;
  facts.size = mapping.size;
  facts.reservation_begin = reservation.begin;
  facts.reservation_size = reservation.size;
  facts.id = mapping.block;
  facts.device = mapping.device;
  return facts;
}

PointerFacts FactsOf(uint64_t pointer) {
  std::lock_guard<std::mutex> lock(machine().mutex);
  if (const Allocation* allocation = machine().allocations.FindHolding(pointer)) return FactsOfAllocation(*allocation);
  if (const Mapping* mapping = machine().map.FindMapping(pointer)) {
    return FactsOfMapping(*mapping, *machine().map.FindReservation(pointer));
  }
  return {};
}

template <typename T>
CUresult Store(void* where, T value) {
  *static_cast<T*>(where) = value;
  return CUDA_SUCCESS;
}

CUresult StoreAttribute(void* out, CUpointer_attribute attribute, uint64_t pointer, const PointerFacts& facts) {
  switch (attribute) {
    case CU_POINTER_ATTRIBUTE_CONTEXT: {
      const bool has_context = facts.is_known && !facts.is_mapping;
      return Store<CUcontext>(out, has_context ? &machine().devices[facts.device].primary_context : nullptr);
    }
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
      return Store<unsigned>(out, !facts.is_known ? 0 : facts.is_host ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE);
    case CU_POINTER_ATTRIBUTE_DEVICE_POINTER: return Store<CUdeviceptr>(out, facts.is_known ? pointer : 0);
    case CU_POINTER_ATTRIBUTE_HOST_POINTER:
      return Store<void*>(out, facts.is_host ? reinterpret_cast<void*>(pointer) : nullptr);
    case CU_POINTER_ATTRIBUTE_BUFFER_ID: return Store<unsigned long long>(out, facts.id);
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL: return Store<int>(out, facts.device);
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR: return Store<CUdeviceptr>(out, facts.reservation_begin);
    case CU_POINTER_ATTRIBUTE_RANGE_SIZE: return Store<size_t>(out, facts.reservation_size);
    case CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR: return Store<CUdeviceptr>(out, facts.begin);
    case CU_POINTER_ATTRIBUTE_MAPPING_SIZE: return Store<size_t>(out, facts.size);
    case CU_POINTER_ATTRIBUTE_MAPPED: return Store<int>(out, facts.is_known);
    case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE: return Store<CUmemoryPool>(out, static_cast<CUmemoryPool>(facts.pool));
    case CU_POINTER_ATTRIBUTE_ACCESS_FLAGS: return Store<int>(out, 3);
    case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
    case CU_POINTER_ATTRIBUTE_IS_MANAGED:
    case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE: return Store<int>(out, 0);
    case CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES: return Store<unsigned long long>(out, 0);
    default: Log("pointer attribute %d is not emulated", static_cast<int>(attribute)); return CUDA_ERROR_INVALID_VALUE;
  }
}

}  // namespace
}  // namespace gmlake::emulator

using namespace gmlake::emulator;  // NOLINT: entry points are in the global namespace

CUresult CUDAAPI cuMemGetInfo(size_t* free, size_t* total) {
  GMLAKE_ENTRY();
  std::lock_guard<std::mutex> lock(machine().mutex);
  const PhysicalMemory& memory = machine().memory[CurrentDevice()];
  *free = memory.left();
  *total = memory.total();
  return CUDA_SUCCESS;
}

CUresult CUDAAPI cuMemAlloc(CUdeviceptr* address, size_t size) {
  GMLAKE_ENTRY_OUTSIDE_CAPTURE();
  return AllocatePlain(address, size);
}

CUresult CUDAAPI cuMemFree(CUdeviceptr address) {
  GMLAKE_ENTRY_OUTSIDE_CAPTURE();
  return address == 0 ? CUDA_SUCCESS : FreeDevice(address);
}

CUresult CUDAAPI cuMemHostAlloc(void** address, size_t size, unsigned) {
  GMLAKE_ENTRY_OUTSIDE_CAPTURE();
  return AllocatePinned(address, size);
}

CUresult CUDAAPI cuMemAllocHost(void** address, size_t size) {
  GMLAKE_ENTRY_OUTSIDE_CAPTURE();
  return AllocatePinned(address, size);
}

CUresult CUDAAPI cuMemFreeHost(void* address) {
  GMLAKE_ENTRY_OUTSIDE_CAPTURE();
  DrainAllDevices();
  if (!ForgetHost(address, Kind::kPinned)) {
    Violation(Rule::kFree, "cuMemFreeHost of %p, which is not allocated", address);
    return CUDA_ERROR_INVALID_VALUE;
  }
  std::free(address);
  return CUDA_SUCCESS;
}

CUresult CUDAAPI cuMemHostRegister(void* address, size_t size, unsigned) {
  GMLAKE_ENTRY();
  std::lock_guard<std::mutex> lock(machine().mutex);
  machine().allocations.Add(reinterpret_cast<uint64_t>(address), size, Kind::kRegistered, CurrentDevice(), nullptr);
  return CUDA_SUCCESS;
}

CUresult CUDAAPI cuMemHostUnregister(void* address) {
  GMLAKE_ENTRY();
  return ForgetHost(address, Kind::kRegistered) ? CUDA_SUCCESS : CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED;
}

CUresult CUDAAPI cuMemHostGetDevicePointer(CUdeviceptr* device_pointer, void* address, unsigned) {
  GMLAKE_ENTRY();
  *device_pointer = reinterpret_cast<CUdeviceptr>(address);
  return CUDA_SUCCESS;
}

CUresult CUDAAPI cuMemHostGetFlags(unsigned* flags, void*) {
  GMLAKE_ENTRY();
  *flags = 0;
  return CUDA_SUCCESS;
}

CUresult CUDAAPI cuMemGetAddressRange(CUdeviceptr* begin, size_t* size, CUdeviceptr pointer) {
  GMLAKE_ENTRY();
  const PointerFacts facts = FactsOf(pointer);
  if (!facts.is_known) return CUDA_ERROR_NOT_FOUND;
  if (begin != nullptr) *begin = facts.begin;
  if (size != nullptr) *size = facts.size;
  return CUDA_SUCCESS;
}

CUresult CUDAAPI cuPointerGetAttribute(void* out, CUpointer_attribute attribute, CUdeviceptr pointer) {
  GMLAKE_ENTRY();
  const PointerFacts facts = FactsOf(pointer);
  return facts.is_known ? StoreAttribute(out, attribute, pointer, facts) : CUDA_ERROR_INVALID_VALUE;
}

// Unlike its sibling, answers for pointers that the driver does not know, too.
CUresult CUDAAPI cuPointerGetAttributes(unsigned count, CUpointer_attribute* attributes, void** out,
                                        CUdeviceptr pointer) {
  GMLAKE_ENTRY();
  const PointerFacts facts = FactsOf(pointer);
  for (unsigned i = 0; i < count; ++i) {
    const CUresult stored = StoreAttribute(out[i], attributes[i], pointer, facts);
    if (stored != CUDA_SUCCESS) return stored;
  }
  return CUDA_SUCCESS;
}

CUresult CUDAAPI cuPointerSetAttribute(const void*, CUpointer_attribute, CUdeviceptr) {
  GMLAKE_ENTRY();
  return CUDA_SUCCESS;
}

// The emulated machine has no other process to share with, so even plain memory, which an H200 shares, is refused.
CUresult CUDAAPI cuIpcGetMemHandle(CUipcMemHandle*, CUdeviceptr) {
  GMLAKE_ENTRY();
  return CUDA_ERROR_INVALID_VALUE;
}

CUresult CUDAAPI cuIpcOpenMemHandle(CUdeviceptr*, CUipcMemHandle, unsigned) {
  GMLAKE_ENTRY();
  return CUDA_ERROR_INVALID_VALUE;
}

CUresult CUDAAPI cuMemExportToShareableHandle(void*, CUmemGenericAllocationHandle, CUmemAllocationHandleType,
                                              unsigned long long) {
  GMLAKE_ENTRY();
  return CUDA_ERROR_INVALID_VALUE;
}
