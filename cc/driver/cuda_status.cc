#include "cc/driver/cuda_status.h"

namespace gmlake {
namespace {

std::string NameOf(const CudaFunctions& cuda, CUresult result) {
  const char* name = nullptr;
  const bool known = cuda.cuGetErrorName(result, &name) == CUDA_SUCCESS && name != nullptr;
  return (known ? std::string(name) : "unknown error") + " (" + std::to_string(result) + ")";
}

Status Failure(const CudaFunctions& cuda, CUresult result, const std::string& what) {
  return Status(ToStatusCode(result), what + ": " + NameOf(cuda, result));
}

}  // namespace

StatusCode ToStatusCode(CUresult result) {
  switch (result) {
    case CUDA_SUCCESS: return StatusCode::kOk;
    case CUDA_ERROR_OUT_OF_MEMORY: return StatusCode::kOutOfMemory;
    case CUDA_ERROR_NOT_READY: return StatusCode::kNotReady;
    case CUDA_ERROR_NOT_SUPPORTED:
    case CUDA_ERROR_NOT_PERMITTED: return StatusCode::kNotSupported;
    case CUDA_ERROR_INVALID_VALUE: return StatusCode::kInvalidArgument;
    case CUDA_ERROR_NOT_INITIALIZED:
    case CUDA_ERROR_DEINITIALIZED:
    case CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED:
    case CUDA_ERROR_STREAM_CAPTURE_INVALIDATED:
    case CUDA_ERROR_STREAM_CAPTURE_IMPLICIT: return StatusCode::kFailedPrecondition;
    default: return StatusCode::kDriverError;
  }
}

Status ToStatus(const CudaFunctions& cuda, CUresult result, const char* call) {
  if (result == CUDA_SUCCESS) return OkStatus();
  return Failure(cuda, result, call);
}

Status ToStatus(const CudaFunctions& cuda, CUresult result, const char* call, Bytes size) {
  if (result == CUDA_SUCCESS) return OkStatus();
  return Failure(cuda, result, std::string(call) + " of " + ToString(size));
}

}  // namespace gmlake
