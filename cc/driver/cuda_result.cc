#include "cc/driver/cuda_result.h"

#include <cuda.h>

namespace gmlake {

CudaResult ToCudaResult(StatusCode code) {
  switch (code) {
    case StatusCode::kOk: return CUDA_SUCCESS;
    case StatusCode::kOutOfMemory: return CUDA_ERROR_OUT_OF_MEMORY;
    case StatusCode::kNotReady: return CUDA_ERROR_NOT_READY;
    case StatusCode::kNotSupported: return CUDA_ERROR_NOT_SUPPORTED;
    case StatusCode::kInvalidArgument: return CUDA_ERROR_INVALID_VALUE;
    case StatusCode::kFailedPrecondition: return CUDA_ERROR_NOT_PERMITTED;
    case StatusCode::kDriverError: return CUDA_ERROR_UNKNOWN;
  }
  return CUDA_ERROR_UNKNOWN;
}

}  // namespace gmlake
