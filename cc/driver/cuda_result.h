// The other direction of cuda_status.h: what a function that stands in for one of the driver's must return.
//
// Free of cuda.h, so that the driver hook may include it.
#ifndef GMLAKE_DRIVER_CUDA_RESULT_H_
#define GMLAKE_DRIVER_CUDA_RESULT_H_

#include "cc/base/status.h"

namespace gmlake {

// A CUresult, which is an int in C's calling convention.
using CudaResult = int;

CudaResult ToCudaResult(StatusCode code);

}  // namespace gmlake

#endif  // GMLAKE_DRIVER_CUDA_RESULT_H_
