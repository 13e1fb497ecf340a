// The table of the entry points of libcuda.so.1 that this project calls. cuda_library.h fills it. Besides
// cc/driver/cuda_*, no file of the project includes cuda.h.
#ifndef GMLAKE_DRIVER_CUDA_FUNCTIONS_H_
#define GMLAKE_DRIVER_CUDA_FUNCTIONS_H_

#include <cuda.h>

#include "cc/driver/cuda_table.h"

#define GMLAKE_CUDA_FUNCTIONS(X)   \
  X(cuInit)                        \
  X(cuDriverGetVersion)            \
  X(cuGetErrorName)                \
  X(cuDeviceGetCount)              \
  X(cuDeviceGet)                   \
  X(cuDeviceGetName)               \
  X(cuDeviceGetPCIBusId)           \
  X(cuDeviceGetAttribute)          \
  X(cuDeviceTotalMem)              \
  X(cuDeviceCanAccessPeer)         \
  X(cuDeviceGetDefaultMemPool)     \
  X(cuDevicePrimaryCtxRetain)      \
  X(cuDevicePrimaryCtxRelease)     \
  X(cuCtxGetCurrent)               \
  X(cuCtxSetCurrent)               \
  X(cuCtxSynchronize)              \
  X(cuMemGetInfo)                  \
  X(cuMemGetAllocationGranularity) \
  X(cuMemCreate)                   \
  X(cuMemRelease)                  \
  X(cuMemAddressReserve)           \
  X(cuMemAddressFree)              \
  X(cuMemMap)                      \
  X(cuMemUnmap)                    \
  X(cuMemSetAccess)                \
  X(cuMemsetD8)                    \
  X(cuMemcpyDtoH)                  \
  X(cuMemHostRegister)             \
  X(cuMemHostUnregister)           \
  X(cuMemcpyDtoHAsync)             \
  X(cuMemcpyHtoDAsync)             \
  X(cuMemsetD8Async)               \
  X(cuStreamCreate)                \
  X(cuStreamDestroy)               \
  X(cuStreamSynchronize)           \
  X(cuEventCreate)                 \
  X(cuEventDestroy)                \
  X(cuEventRecord)                 \
  X(cuEventQuery)                  \
  X(cuEventSynchronize)            \
  X(cuStreamWaitEvent)             \
  X(cuStreamIsCapturing)           \
  X(cuThreadExchangeStreamCaptureMode)

namespace gmlake {

struct CudaFunctions {
  GMLAKE_CUDA_TABLE(GMLAKE_CUDA_FUNCTIONS)
};

}  // namespace gmlake

#endif  // GMLAKE_DRIVER_CUDA_FUNCTIONS_H_
