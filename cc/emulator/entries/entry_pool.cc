// Driver entry points: stream-ordered memory.
#include "cc/emulator/calls/calls.h"
#include "cc/emulator/calls/cuda_api.h"
#include "cc/emulator/calls/log.h"
#include "cc/emulator/calls/settings.h"
#include "cc/emulator/device/context.h"
#include "cc/emulator/device/machine.h"
#include "cc/emulator/streams/capture.h"
#include "cc/emulator/streams/streams.h"

namespace gmlake::emulator {
namespace {

constexpr size_t kPoolChunk = size_t{32} << 20;

Operation PoolOperation(const char* what, CUgraphNodeType type, std::function<void()> run) {
  Operation operation;
  operation.what = what;
  operation.type = type;
  operation.run = std::move(run);
  return operation;
}

// The address is known now; the memory may be touched once the stream has come this far.
std::optional<uint64_t> Place(CUmemoryPool pool, size_t size) {
  ExclusiveAccess access;
  const std::optional<uint64_t> begin = pool->Allocate(size);
  if (begin) machine().allocations.Add(*begin, size, Kind::kPool, pool->device(), pool).is_ready = false;
  return begin;
}

void MarkReady(uint64_t begin) {
  std::lock_guard<std::mutex> lock(machine().mutex);
  if (Allocation* allocation = machine().allocations.FindExact(begin)) allocation->is_ready = true;
}

bool IsCaptured(CUstream stream) { return !IsDefaultStream(stream) && stream->capture != nullptr; }

// CUDA_SUCCESS if memory may now be allocated on the stream.
CUresult CheckMayAllocate(const char* call, CUstream stream) {
  if (const CUresult alive = CheckStream(stream, call); alive != CUDA_SUCCESS) return alive;
  if (!IsCaptured(stream)) return CheckOutsideCapture(call);
  Log("graph memory nodes are not emulated");
  return CUDA_ERROR_NOT_SUPPORTED;
}

// A pool without room waits for the frees that are queued on the stream, as a driver does before it gives up.
std::optional<uint64_t> PlaceOrWait(CUmemoryPool pool, size_t size, CUstream stream) {
  const std::optional<uint64_t> begin = Place(pool, size);
  if (begin || !settings().async) return begin;
  Drain(stream);
  return Place(pool, size);
}

CUresult AllocateFromPool(const char* call, CUdeviceptr* address, size_t size, CUmemoryPool pool, CUstream stream) {
  *address = 0;
  if (const CUresult allowed = CheckMayAllocate(call, stream); allowed != CUDA_SUCCESS) return allowed;
  if (size == 0) return CUDA_SUCCESS;
  const std::optional<uint64_t> begin = PlaceOrWait(pool, size, stream);
  if (!begin) return CUDA_ERROR_OUT_OF_MEMORY;
  *address = *begin;
  const auto become_ready = [placed = *begin] { MarkReady(placed); };
  return Submit(stream, PoolOperation("pool allocation", CU_GRAPH_NODE_TYPE_MEM_ALLOC, become_ready));
}

// A free that overtakes work on another stream is as wrong as an unmap under it.
void FreeNow(uint64_t begin, size_t size) {
  const std::string pending = FindPendingWork(begin, size);
  if (!pending.empty()) {
    Violation(Rule::kUseAfterFree, "pool memory [0x%lx, +%zu) is freed while \"%s\" is queued", begin, size,
              pending.c_str());
  }
  ExclusiveAccess access;
  const Allocation* allocation = machine().allocations.FindExact(begin);
  if (allocation == nullptr) return;
  allocation->pool->Free(begin, allocation->size);
  machine().allocations.Remove(begin);
}

// Marks the allocation, so that a second free is noticed before the first has run.
CUresult QueueFree(uint64_t address, size_t* size) {
  std::lock_guard<std::mutex> lock(machine().mutex);
  Allocation* allocation = machine().allocations.FindExact(address);
  if (allocation == nullptr || allocation->is_host() || allocation->is_freeing) {
    Violation(Rule::kFree, "cuMemFreeAsync of 0x%lx, which is not allocated", address);
    return CUDA_ERROR_INVALID_VALUE;
  }
  allocation->is_freeing = true;
  *size = allocation->size;
  return CUDA_SUCCESS;
}

// The pool that is wrong on purpose (settings.h).
void FreeHastily(uint64_t address, size_t size) {
  FreeNow(address, size);
  ExclusiveAccess access;
  for (const Device& device : machine().devices) device.default_pool->ReleaseDownTo(0);
}

CUresult FreeInStreamOrder(uint64_t address, CUstream stream) {
  if (const CUresult alive = CheckStream(stream, "cuMemFreeAsync"); alive != CUDA_SUCCESS) return alive;
  size_t size = 0;
  if (const CUresult queued = QueueFree(address, &size); queued != CUDA_SUCCESS) return queued;
  if (settings().hasty_pool) {
    FreeHastily(address, size);
    return CUDA_SUCCESS;
  }
  const auto free = [address, size] { FreeNow(address, size); };
  return Submit(stream, PoolOperation("pool free", CU_GRAPH_NODE_TYPE_MEM_FREE, free));
}

uint64_t PoolAttribute(const MemoryPool& pool, CUmemPool_attribute attribute) {
  switch (attribute) {
    case CU_MEMPOOL_ATTR_RELEASE_THRESHOLD: return pool.threshold();
    case CU_MEMPOOL_ATTR_USED_MEM_CURRENT: return pool.used();
    case CU_MEMPOOL_ATTR_USED_MEM_HIGH: return pool.peak_used();
    case CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT: return pool.reserved();
    case CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH: return pool.peak_reserved();
    default: return 1;
  }
}

bool IsReusePolicy(CUmemPool_attribute attribute) {
  return attribute <= CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES;
}

}  // namespace
}  // namespace gmlake::emulator

using namespace gmlake::emulator;  // NOLINT: entry points are in the global namespace

CUresult CUDAAPI cuDeviceGetDefaultMemPool(CUmemoryPool* pool, CUdevice device) {
  GMLAKE_ENTRY();
  *pool = machine().devices[device].default_pool.get();
  return CUDA_SUCCESS;
}

CUresult CUDAAPI cuDeviceGetMemPool(CUmemoryPool* pool, CUdevice device) {
  GMLAKE_ENTRY();
  std::lock_guard<std::mutex> lock(machine().mutex);
  *pool = machine().devices[device].current_pool;
  return CUDA_SUCCESS;
}

CUresult CUDAAPI cuDeviceSetMemPool(CUdevice device, CUmemoryPool pool) {
  GMLAKE_ENTRY();
  std::lock_guard<std::mutex> lock(machine().mutex);
  machine().devices[device].current_pool = pool;
  return CUDA_SUCCESS;
}

CUresult CUDAAPI cuMemPoolCreate(CUmemoryPool* pool, const CUmemPoolProps* props) {
  GMLAKE_ENTRY();
  const int device = props->location.id;
  if (props->location.type != CU_MEM_LOCATION_TYPE_DEVICE || !machine().has_device(device)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  std::lock_guard<std::mutex> lock(machine().mutex);
  *pool = machine().AddPool(device, kPoolChunk, props->maxSize);
  return CUDA_SUCCESS;
}

CUresult CUDAAPI cuMemPoolDestroy(CUmemoryPool pool) {
  GMLAKE_ENTRY();
  DrainAllDevices();
  ExclusiveAccess access;
  return machine().RemovePool(pool) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult CUDAAPI cuMemPoolTrimTo(CUmemoryPool pool, size_t keep) {
  GMLAKE_ENTRY();
  ExclusiveAccess access;
  pool->ReleaseDownTo(keep);
  return CUDA_SUCCESS;
}

CUresult CUDAAPI cuMemPoolSetAccess(CUmemoryPool pool, const CUmemAccessDesc* access, size_t count) {
  GMLAKE_ENTRY();
  std::lock_guard<std::mutex> lock(machine().mutex);
  for (size_t i = 0; i < count; ++i) {
    pool->OpenTo(access[i].location.id, access[i].flags == CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
  }
  return CUDA_SUCCESS;
}

CUresult CUDAAPI cuMemPoolGetAccess(CUmemAccess_flags* flags, CUmemoryPool pool, CUmemLocation* location) {
  GMLAKE_ENTRY();
  std::lock_guard<std::mutex> lock(machine().mutex);
  *flags = pool->IsOpenTo(location->id) ? CU_MEM_ACCESS_FLAGS_PROT_READWRITE : CU_MEM_ACCESS_FLAGS_PROT_NONE;
  return CUDA_SUCCESS;
}

CUresult CUDAAPI cuMemPoolSetAttribute(CUmemoryPool pool, CUmemPool_attribute attribute, void* value) {
  GMLAKE_ENTRY();
  std::lock_guard<std::mutex> lock(machine().mutex);
  if (attribute == CU_MEMPOOL_ATTR_RELEASE_THRESHOLD) pool->set_threshold(*static_cast<uint64_t*>(value));
  if (attribute == CU_MEMPOOL_ATTR_USED_MEM_HIGH || attribute == CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH) pool->ResetPeaks();
  return CUDA_SUCCESS;
}

CUresult CUDAAPI cuMemPoolGetAttribute(CUmemoryPool pool, CUmemPool_attribute attribute, void* value) {
  GMLAKE_ENTRY();
  std::lock_guard<std::mutex> lock(machine().mutex);
  if (IsReusePolicy(attribute)) {
    *static_cast<int*>(value) = 1;
  } else {
    *static_cast<uint64_t*>(value) = PoolAttribute(*pool, attribute);
  }
  return CUDA_SUCCESS;
}

CUresult CUDAAPI cuMemAllocFromPoolAsync(CUdeviceptr* address, size_t size, CUmemoryPool pool, CUstream stream) {
  GMLAKE_ENTRY();
  return AllocateFromPool(__func__, address, size, pool, stream);
}

CUresult CUDAAPI cuMemAllocAsync(CUdeviceptr* address, size_t size, CUstream stream) {
  GMLAKE_ENTRY();
  return AllocateFromPool(__func__, address, size, machine().devices[DeviceOf(stream)].current_pool, stream);
}

CUresult CUDAAPI cuMemFreeAsync(CUdeviceptr address, CUstream stream) {
  GMLAKE_ENTRY();
  return address == 0 ? CUDA_SUCCESS : FreeInStreamOrder(address, stream);
}
