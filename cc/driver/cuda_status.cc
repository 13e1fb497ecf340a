#include "cc/driver/cuda_status.h"

namespace gmlake {
namespace {

struct Meaning {
  CUresult result;
  StatusCode code;
};

// Every other result is kDriverError.
constexpr Meaning kMeanings[] = {
    {CUDA_SUCCESS, StatusCode::kOk},
    {CUDA_ERROR_OUT_OF_MEMORY, StatusCode::kOutOfMemory},
    {CUDA_ERROR_NOT_READY, StatusCode::kNotReady},
    {CUDA_ERROR_NOT_SUPPORTED, StatusCode::kNotSupported},
    {CUDA_ERROR_NOT_PERMITTED, StatusCode::kNotSupported},
    {CUDA_ERROR_INVALID_VALUE, StatusCode::kInvalidArgument},
    {CUDA_ERROR_NOT_INITIALIZED, StatusCode::kFailedPrecondition},
    {CUDA_ERROR_DEINITIALIZED, StatusCode::kFailedPrecondition},
    {CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, StatusCode::kFailedPrecondition},
    {CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, StatusCode::kFailedPrecondition},
    {CUDA_ERROR_STREAM_CAPTURE_IMPLICIT, StatusCode::kFailedPrecondition},
};

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
  for (const Meaning& meaning : kMeanings) {
    if (meaning.result == result) return meaning.code;
  }
  return StatusCode::kDriverError;
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
