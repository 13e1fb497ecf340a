// Turns what the driver returned into a Status: which call, of what size, and CUDA's own name for the error.
#ifndef GMLAKE_DRIVER_CUDA_STATUS_H_
#define GMLAKE_DRIVER_CUDA_STATUS_H_

#include <string>

#include "cc/base/bytes.h"
#include "cc/base/status.h"
#include "cc/driver/cuda_functions.h"

namespace gmlake {

StatusCode ToStatusCode(CUresult result);

// The text is built only for a failure; success costs one comparison.
Status ToStatus(const CudaFunctions& cuda, CUresult result, const char* call);
Status ToStatus(const CudaFunctions& cuda, CUresult result, const char* call, Bytes size);

}  // namespace gmlake

#endif  // GMLAKE_DRIVER_CUDA_STATUS_H_
