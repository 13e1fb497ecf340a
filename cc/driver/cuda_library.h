// Opens the CUDA driver and resolves its entry points.
//
// dlopen opens it, so the library can be built, loaded and tested on machines without a GPU, and a test can name
// another driver.
#ifndef GMLAKE_DRIVER_CUDA_LIBRARY_H_
#define GMLAKE_DRIVER_CUDA_LIBRARY_H_

#include <string>

#include "cc/base/status.h"
#include "cc/driver/cuda_functions.h"

namespace gmlake {

// Opens the driver (an empty path means libcuda.so.1 of the system), resolves every entry point and calls cuInit. The
// driver stays loaded for the life of the process: it cannot be unloaded safely.
StatusOr<CudaFunctions> LoadCuda(const std::string& path);

}  // namespace gmlake

#endif  // GMLAKE_DRIVER_CUDA_LIBRARY_H_
