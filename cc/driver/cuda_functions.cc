#include "cc/driver/cuda_functions.h"

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
  const StatusOr<void*> library = OpenCudaLibrary(path);
  if (!library.ok()) return library.status();
  CudaFunctions table;
  const Status resolved = table.Resolve(*library);
  if (!resolved.ok()) return resolved;
  const Status started = ToStatus(table, table.cuInit(0), "cuInit");
  if (!started.ok()) return started;
  return table;
}

}  // namespace gmlake
