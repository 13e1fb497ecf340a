#include "cc/driver/testing/scripted_cuda.h"

#include <cstring>
#include <mutex>
#include <utility>

#define EXPORT extern "C" __attribute__((visibility("default")))

namespace gmlake {
namespace {

constexpr size_t kGranule = size_t{2} << 20;

std::mutex mutex;
CUdeviceptr next_address = 0x7000'0000'0000;
uintptr_t next_handle = 1;
unsigned char last_written = 0;
thread_local CUcontext current = nullptr;
thread_local CUstreamCaptureMode capture_mode = CU_STREAM_CAPTURE_MODE_GLOBAL;

CUdeviceptr TakeAddresses(size_t size, size_t alignment) {
  const CUdeviceptr address = (next_address + alignment - 1) / alignment * alignment;
  next_address = address + size;
  return address;
}

CUcontext ContextOf(int device) { return reinterpret_cast<CUcontext>(static_cast<uintptr_t>(device) + 1); }

ScriptedCuda& State() {
  static ScriptedCuda* const state =
      new ScriptedCuda{{}, {}, [] { return current; }, [](CUcontext context) { current = context; }};
  return *state;
}

const CudaScript& Script() { return State().script; }
CudaObservations& Seen() { return State().seen; }

// Counts the call and says whether the script lets it pass.
CUresult Enter(const char* name) {
  CudaScript& script = State().script;
  ++Seen().calls[name];
  if (script.inside) script.inside(name);
  if (script.failing_call != name) return CUDA_SUCCESS;
  if (script.failing_nth == 0) return script.failure;
  return --script.failing_nth == 0 ? (script.failing_call.clear(), script.failure) : CUDA_SUCCESS;
}

// For calls about memory and events: whatever thread they come from, the context must be there and no capture
// disturbed.
CUresult EnterScoped(const char* name) {
  if (current == nullptr) Seen().violations.push_back(std::string(name) + " without a context");
  if (capture_mode != CU_STREAM_CAPTURE_MODE_RELAXED) {
    Seen().violations.push_back(std::string(name) + " disturbs a capture");
  }
  return Enter(name);
}

}  // namespace
}  // namespace gmlake

using gmlake::Enter;
using gmlake::EnterScoped;
using gmlake::Script;
using gmlake::Seen;

#define CALL(name)                                       \
  const std::lock_guard<std::mutex> lock(gmlake::mutex); \
  if (const CUresult result = Enter(name)) return result
#define SCOPED_CALL(name)                                \
  const std::lock_guard<std::mutex> lock(gmlake::mutex); \
  if (const CUresult result = EnterScoped(name)) return result

EXPORT gmlake::ScriptedCuda* GetScriptedCuda() { return &gmlake::State(); }

EXPORT CUresult cuInit(unsigned) {
  CALL("cuInit");
  return CUDA_SUCCESS;
}
EXPORT CUresult cuDriverGetVersion(int* version) {
  *version = 13000;
  return CUDA_SUCCESS;
}

EXPORT CUresult cuGetErrorName(CUresult error, const char** name) {
  *name = error == CUDA_ERROR_OUT_OF_MEMORY ? "CUDA_ERROR_OUT_OF_MEMORY" : "CUDA_ERROR_SCRIPTED";
  return CUDA_SUCCESS;
}

EXPORT CUresult cuDeviceGetCount(int* count) {
  CALL("cuDeviceGetCount");
  *count = Script().num_devices;
  return CUDA_SUCCESS;
}
EXPORT CUresult cuDeviceGet(CUdevice* device, int ordinal) {
  *device = ordinal;
  return CUDA_SUCCESS;
}

EXPORT CUresult cuDeviceGetName(char* name, int length, CUdevice) {
  std::strncpy(name, "Scripted GPU", static_cast<size_t>(length));
  return CUDA_SUCCESS;
}

EXPORT CUresult cuDeviceGetPCIBusId(char* id, int length, CUdevice) {
  std::strncpy(id, "0000:01:00.0", static_cast<size_t>(length));
  return CUDA_SUCCESS;
}

EXPORT CUresult cuDeviceTotalMem_v2(size_t* total, CUdevice) {
  *total = Script().total;
  return CUDA_SUCCESS;
}

EXPORT CUresult cuDeviceGetAttribute(int* value, CUdevice_attribute attribute, CUdevice) {
  CALL("cuDeviceGetAttribute");
  const std::map<CUdevice_attribute, bool> attributes = {
      {CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED, Script().virtual_memory},
      {CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED, Script().file_descriptor},
      {CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_FABRIC_SUPPORTED, Script().fabric},
      {CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WITH_CUDA_VMM_SUPPORTED, Script().rdma}};
  const auto found = attributes.find(attribute);
  *value = found != attributes.end() && found->second ? 1 : 0;
  return CUDA_SUCCESS;
}

EXPORT CUresult cuDeviceCanAccessPeer(int* can, CUdevice peer, CUdevice device) {
  *can = Script().unreachable.count({peer, device}) == 0 ? 1 : 0;
  return CUDA_SUCCESS;
}

EXPORT CUresult cuDeviceGetDefaultMemPool(CUmemoryPool* pool, CUdevice device) {
  if (!Script().has_pools) return CUDA_ERROR_NOT_SUPPORTED;
  *pool = reinterpret_cast<CUmemoryPool>(static_cast<uintptr_t>(0x1000 + device));
  return CUDA_SUCCESS;
}

EXPORT CUresult cuDevicePrimaryCtxRetain(CUcontext* context, CUdevice device) {
  CALL("cuDevicePrimaryCtxRetain");
  ++Seen().contexts;
  *context = gmlake::ContextOf(device);
  return CUDA_SUCCESS;
}

EXPORT CUresult cuDevicePrimaryCtxRelease_v2(CUdevice) {
  --Seen().contexts;
  return CUDA_SUCCESS;
}
EXPORT CUresult cuCtxGetCurrent(CUcontext* context) {
  *context = gmlake::current;
  return CUDA_SUCCESS;
}

EXPORT CUresult cuCtxSetCurrent(CUcontext context) {
  CALL("cuCtxSetCurrent");
  gmlake::current = context;
  return CUDA_SUCCESS;
}

EXPORT CUresult cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode* mode) {
  std::swap(*mode, gmlake::capture_mode);
  return CUDA_SUCCESS;
}

EXPORT CUresult cuMemGetInfo_v2(size_t* free, size_t* total) {
  SCOPED_CALL("cuMemGetInfo");
  *total = Script().total;
  *free = Script().total / 2;
  return CUDA_SUCCESS;
}

EXPORT CUresult cuMemGetAllocationGranularity(size_t* size, const CUmemAllocationProp*,
                                              CUmemAllocationGranularity_flags) {
  *size = gmlake::kGranule;
  return CUDA_SUCCESS;
}

EXPORT CUresult cuMemCreate(CUmemGenericAllocationHandle* block, size_t size, const CUmemAllocationProp* properties,
                            unsigned long long) {
  SCOPED_CALL("cuMemCreate");
  const bool descriptor = (properties->requestedHandleTypes & CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) != 0;
  if (descriptor && size > Script().descriptor_limit) return CUDA_ERROR_INVALID_VALUE;
  Seen().created.push_back(*properties);
  ++Seen().blocks;
  *block = gmlake::next_handle++;
  return CUDA_SUCCESS;
}

EXPORT CUresult cuMemRelease(CUmemGenericAllocationHandle) {
  SCOPED_CALL("cuMemRelease");
  --Seen().blocks;
  return CUDA_SUCCESS;
}

EXPORT CUresult cuMemAddressReserve(CUdeviceptr* address, size_t size, size_t alignment, CUdeviceptr,
                                    unsigned long long) {
  SCOPED_CALL("cuMemAddressReserve");
  ++Seen().reservations;
  *address = gmlake::TakeAddresses(size, alignment == 0 ? 4096 : alignment);
  return CUDA_SUCCESS;
}

EXPORT CUresult cuMemAddressFree(CUdeviceptr, size_t) {
  SCOPED_CALL("cuMemAddressFree");
  --Seen().reservations;
  return CUDA_SUCCESS;
}

EXPORT CUresult cuMemMap(CUdeviceptr, size_t, size_t, CUmemGenericAllocationHandle, unsigned long long) {
  SCOPED_CALL("cuMemMap");
  ++Seen().mappings;
  return CUDA_SUCCESS;
}

EXPORT CUresult cuMemUnmap(CUdeviceptr, size_t) {
  SCOPED_CALL("cuMemUnmap");
  --Seen().mappings;
  return CUDA_SUCCESS;
}

EXPORT CUresult cuMemSetAccess(CUdeviceptr, size_t, const CUmemAccessDesc* access, size_t count) {
  SCOPED_CALL("cuMemSetAccess");
  const bool rdma = !Seen().created.empty() && Seen().created.back().allocFlags.gpuDirectRDMACapable != 0;
  if (rdma && Script().rdma_access_fails) return CUDA_ERROR_UNKNOWN;
  Seen().access.emplace_back();
  for (size_t i = 0; i < count; ++i) Seen().access.back().push_back(access[i].location.id);
  return CUDA_SUCCESS;
}

EXPORT CUresult cuMemsetD8_v2(CUdeviceptr, unsigned char value, size_t) {
  SCOPED_CALL("cuMemsetD8");
  gmlake::last_written = Script().forgets_writes ? 0 : value;
  return CUDA_SUCCESS;
}

EXPORT CUresult cuMemcpyDtoH_v2(void* target, CUdeviceptr, size_t size) {
  SCOPED_CALL("cuMemcpyDtoH");
  std::memset(target, gmlake::last_written, size);
  return CUDA_SUCCESS;
}

EXPORT CUresult cuEventCreate(CUevent* event, unsigned) {
  SCOPED_CALL("cuEventCreate");
  ++Seen().events;
  *event = reinterpret_cast<CUevent>(gmlake::next_handle++);
  return CUDA_SUCCESS;
}

EXPORT CUresult cuEventDestroy_v2(CUevent) {
  SCOPED_CALL("cuEventDestroy");
  --Seen().events;
  return CUDA_SUCCESS;
}

EXPORT CUresult cuEventRecord(CUevent, CUstream stream) {
  SCOPED_CALL("cuEventRecord");
  if (Seen().destroyed_streams.count(stream) != 0) Seen().violations.push_back("an event on a destroyed stream");
  return CUDA_SUCCESS;
}

EXPORT CUresult cuEventQuery(CUevent) {
  SCOPED_CALL("cuEventQuery");
  return CUDA_SUCCESS;
}
EXPORT CUresult cuEventSynchronize(CUevent) {
  SCOPED_CALL("cuEventSynchronize");
  return CUDA_SUCCESS;
}
EXPORT CUresult cuStreamWaitEvent(CUstream, CUevent, unsigned) {
  SCOPED_CALL("cuStreamWaitEvent");
  return CUDA_SUCCESS;
}

EXPORT CUresult cuStreamIsCapturing(CUstream stream, CUstreamCaptureStatus* status) {
  if (Seen().destroyed_streams.count(stream) != 0) Seen().violations.push_back("a question about a destroyed stream");
  *status = stream != Script().captured_stream ? CU_STREAM_CAPTURE_STATUS_NONE : CU_STREAM_CAPTURE_STATUS_ACTIVE;
  return CUDA_SUCCESS;
}

EXPORT CUresult cuStreamDestroy_v2(CUstream stream) {
  CALL("cuStreamDestroy");
  Seen().destroyed_streams.insert(stream);
  return CUDA_SUCCESS;
}

// Copies to and from the host, of nothing.
EXPORT CUresult cuCtxSynchronize() {
  CALL("cuCtxSynchronize");
  return CUDA_SUCCESS;
}

EXPORT CUresult cuStreamCreate(CUstream* stream, unsigned) {
  SCOPED_CALL("cuStreamCreate");
  *stream = reinterpret_cast<CUstream>(gmlake::next_handle++);
  return CUDA_SUCCESS;
}

EXPORT CUresult cuStreamSynchronize(CUstream) {
  SCOPED_CALL("cuStreamSynchronize");
  return CUDA_SUCCESS;
}
EXPORT CUresult cuMemHostUnregister(void*) {
  SCOPED_CALL("cuMemHostUnregister");
  return CUDA_SUCCESS;
}

EXPORT CUresult cuMemHostRegister_v2(void*, size_t, unsigned) {
  SCOPED_CALL("cuMemHostRegister");
  return CUDA_SUCCESS;
}

EXPORT CUresult cuMemcpyDtoHAsync_v2(void*, CUdeviceptr, size_t, CUstream) {
  SCOPED_CALL("cuMemcpyDtoHAsync");
  return CUDA_SUCCESS;
}

EXPORT CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr, const void*, size_t, CUstream) {
  SCOPED_CALL("cuMemcpyHtoDAsync");
  return CUDA_SUCCESS;
}

EXPORT CUresult cuMemsetD8Async(CUdeviceptr, unsigned char, size_t, CUstream) {
  SCOPED_CALL("cuMemsetD8Async");
  return CUDA_SUCCESS;
}

// The driver's own pools, for what is not ours.
EXPORT CUresult cuMemAllocFromPoolAsync(CUdeviceptr* address, size_t size, CUmemoryPool, CUstream) {
  CALL("cuMemAllocFromPoolAsync");
  ++Seen().pool_allocations;
  *address = gmlake::TakeAddresses(size, 512);
  return CUDA_SUCCESS;
}

EXPORT CUresult cuMemFreeAsync(CUdeviceptr, CUstream) {
  CALL("cuMemFreeAsync");
  --Seen().pool_allocations;
  return CUDA_SUCCESS;
}
