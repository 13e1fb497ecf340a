// libcudart: what jaxlib's own kernels and CUB ask of the CUDA runtime, passed on to the emulated driver.
//
// Kernels that are compiled into a library register themselves here and are launched by symbol; like all kernels of
// the emulator they do nothing. The signatures are those of cuda_runtime_api.h, with opaque pointers.
#include <cstddef>
#include <cstring>

#include "cc/emulator/companions/companion.h"

using gmlake::emulator::CallDriver;

namespace {

constexpr int kNotSupported = 801;
constexpr int kVersion = 13000;

enum class CopyKind { kHostToHost = 0, kHostToDevice = 1, kDeviceToHost = 2, kDeviceToDevice = 3 };

struct Dim3 {
  unsigned x, y, z;
};

struct FunctionAttributes {
  size_t shared_bytes, constant_bytes, local_bytes;
  int max_threads_per_block, registers, ptx_version, binary_version;
  char rest[256];
};

thread_local int t_device = 0;

template <typename... Arguments>
int Call(const char* name, Arguments... arguments) {
  return CallDriver<int>(name, kNotSupported, arguments...);
}

void* HostKernel(const void* symbol) {
  const char* const no_name = nullptr;
  return CallDriver<void*>("gmlake_emulator_host_kernel", nullptr, symbol, no_name);
}

const char* NameOfCopy(CopyKind kind) {
  switch (kind) {
    case CopyKind::kHostToDevice: return "cuMemcpyHtoDAsync_v2";
    case CopyKind::kDeviceToHost: return "cuMemcpyDtoHAsync_v2";
    case CopyKind::kDeviceToDevice: return "cuMemcpyDtoDAsync_v2";
    default: return "cuMemcpyAsync";
  }
}

}  // namespace

GMLAKE_EXPORT int cudaGetDeviceCount(int* count) {
  *count = gmlake::emulator::CountDevices();
  return 0;
}

GMLAKE_EXPORT int cudaGetDevice(int* device) {
  *device = t_device;
  return 0;
}

GMLAKE_EXPORT int cudaSetDevice(int device) {
  t_device = device;
  return 0;
}

GMLAKE_EXPORT int cudaDeviceGetAttribute(int* value, int attribute, int device) {
  return Call("cuDeviceGetAttribute", value, attribute, device);
}

GMLAKE_EXPORT int cudaDeviceSynchronize() { return Call("cuCtxSynchronize"); }

GMLAKE_EXPORT int cudaRuntimeGetVersion(int* version) {
  *version = kVersion;
  return 0;
}

GMLAKE_EXPORT int cudaDriverGetVersion(int* version) { return Call("cuDriverGetVersion", version); }

GMLAKE_EXPORT int cudaGetLastError() { return 0; }

GMLAKE_EXPORT int cudaPeekAtLastError() { return 0; }

GMLAKE_EXPORT const char* cudaGetErrorString(int error) { return error == 0 ? "no error" : "emulated runtime error"; }

GMLAKE_EXPORT const char* cudaGetErrorName(int error) { return error == 0 ? "cudaSuccess" : "cudaErrorEmulated"; }

GMLAKE_EXPORT int cudaMalloc(void** address, size_t size) { return Call("cuMemAlloc_v2", address, size); }

GMLAKE_EXPORT int cudaFree(void* address) { return Call("cuMemFree_v2", address); }

GMLAKE_EXPORT int cudaMallocAsync(void** address, size_t size, void* stream) {
  return Call("cuMemAllocAsync", address, size, stream);
}

GMLAKE_EXPORT int cudaFreeAsync(void* address, void* stream) { return Call("cuMemFreeAsync", address, stream); }

GMLAKE_EXPORT int cudaMemGetInfo(size_t* free, size_t* total) { return Call("cuMemGetInfo_v2", free, total); }

GMLAKE_EXPORT int cudaMemcpyAsync(void* to, const void* from, size_t size, int kind, void* stream) {
  return Call(NameOfCopy(static_cast<CopyKind>(kind)), to, from, size, stream);
}

GMLAKE_EXPORT int cudaMemcpy(void* to, const void* from, size_t size, int kind) {
  void* const default_stream = nullptr;
  return cudaMemcpyAsync(to, from, size, kind, default_stream);
}

GMLAKE_EXPORT int cudaMemsetAsync(void* to, int value, size_t size, void* stream) {
  return Call("cuMemsetD8Async", to, static_cast<unsigned char>(value), size, stream);
}

GMLAKE_EXPORT int cudaMemset(void* to, int value, size_t size) {
  void* const default_stream = nullptr;
  return cudaMemsetAsync(to, value, size, default_stream);
}

GMLAKE_EXPORT int cudaStreamSynchronize(void* stream) { return Call("cuStreamSynchronize", stream); }

GMLAKE_EXPORT int cudaStreamQuery(void* stream) { return Call("cuStreamQuery", stream); }

GMLAKE_EXPORT int cudaStreamIsCapturing(void* stream, int* status) {
  return Call("cuStreamIsCapturing", stream, status);
}

GMLAKE_EXPORT int cudaStreamWaitEvent(void* stream, void* event, unsigned flags) {
  return Call("cuStreamWaitEvent", stream, event, flags);
}

GMLAKE_EXPORT int cudaEventCreateWithFlags(void** event, unsigned flags) { return Call("cuEventCreate", event, flags); }

GMLAKE_EXPORT int cudaEventRecord(void* event, void* stream) { return Call("cuEventRecord", event, stream); }

GMLAKE_EXPORT int cudaEventSynchronize(void* event) { return Call("cuEventSynchronize", event); }

GMLAKE_EXPORT int cudaEventDestroy(void* event) { return Call("cuEventDestroy_v2", event); }

GMLAKE_EXPORT int cudaLaunchHostFunc(void* stream, void* function, void* data) {
  return Call("cuLaunchHostFunc", stream, function, data);
}

GMLAKE_EXPORT int cudaGetFuncBySymbol(void** function, const void* symbol) {
  *function = HostKernel(symbol);
  return *function == nullptr ? kNotSupported : 0;
}

GMLAKE_EXPORT int cudaFuncGetAttributes(FunctionAttributes* attributes, const void*) {
  std::memset(attributes, 0, offsetof(FunctionAttributes, rest));
  attributes->max_threads_per_block = 1024;
  attributes->registers = 32;
  attributes->ptx_version = attributes->binary_version = 90;
  return 0;
}

GMLAKE_EXPORT int cudaFuncSetAttribute(const void*, int, int) { return 0; }

GMLAKE_EXPORT int cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, const void*, int, size_t) {
  *blocks = 2;
  return 0;
}

GMLAKE_EXPORT int cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* blocks, const void*, int, size_t,
                                                                         unsigned) {
  *blocks = 2;
  return 0;
}

GMLAKE_EXPORT int cudaLaunchKernel(const void*, Dim3, Dim3, void**, size_t, void*) { return 0; }

GMLAKE_EXPORT int cudaLaunchCooperativeKernel(const void*, Dim3, Dim3, void**, size_t, void*) { return 0; }

GMLAKE_EXPORT int cudaLaunchKernelExC(const void*, const void*, void**) { return 0; }

// How compiled-in kernels announce themselves before main; nothing needs to be kept.
GMLAKE_EXPORT void** __cudaRegisterFatBinary(void*) {
  static void* handle = nullptr;
  return &handle;
}

GMLAKE_EXPORT void __cudaRegisterFatBinaryEnd(void**) {}

GMLAKE_EXPORT void __cudaUnregisterFatBinary(void**) {}

GMLAKE_EXPORT void __cudaRegisterFunction(void**, const char*, char*, const char*, int, void*, void*, void*, void*,
                                          int*) {}

GMLAKE_EXPORT void __cudaRegisterVar(void**, char*, char*, const char*, int, size_t, int, int) {}

GMLAKE_EXPORT char __cudaInitModule(void**) { return 0; }

GMLAKE_EXPORT int __cudaPushCallConfiguration(Dim3, Dim3, size_t, void*) { return 0; }

GMLAKE_EXPORT int __cudaPopCallConfiguration(Dim3* grid, Dim3* block, size_t* shared_bytes, void** stream) {
  *grid = *block = {1, 1, 1};
  *shared_bytes = 0;
  *stream = nullptr;
  return 0;
}

GMLAKE_EXPORT int __cudaGetKernel(const void** kernel, const void* symbol) {
  *kernel = symbol;
  return 0;
}

GMLAKE_EXPORT int __cudaLaunchKernel(const void*, Dim3, Dim3, void**, size_t, void*) { return 0; }
