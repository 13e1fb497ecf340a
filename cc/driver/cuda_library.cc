#include "cc/driver/cuda_library.h"

#include <dlfcn.h>

#include "cc/driver/cuda_status.h"

namespace gmlake {
namespace {

constexpr const char* kSystemDriver = "libcuda.so.1";

}  // namespace

StatusOr<void*> OpenCudaLibrary(const std::string& path) {
  void* library = dlopen(path.empty() ? kSystemDriver : path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library != nullptr) return library;
  const char* reason = dlerror();
  return Status(StatusCode::kNotSupported,
                "no NVIDIA driver: " + std::string(reason == nullptr ? "dlopen failed" : reason));
}

StatusOr<CudaFunctions> LoadCuda(const std::string& path) {
  GMLAKE_ASSIGN_OR_RETURN(void* const library, OpenCudaLibrary(path));
  CudaFunctions table;
  GMLAKE_RETURN_IF_ERROR(table.Resolve(library));
  GMLAKE_RETURN_IF_ERROR(ToStatus(table, table.cuInit(0), "cuInit"));
  return table;
}

}  // namespace gmlake
