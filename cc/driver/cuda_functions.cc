#include "cc/driver/cuda_functions.h"

#include <dlfcn.h>

#include "cc/driver/cuda_status.h"

#define GMLAKE_SYMBOL_OF(name) #name
#define GMLAKE_SYMBOL(name) GMLAKE_SYMBOL_OF(name)

namespace gmlake {
namespace {

constexpr const char* kSystemDriver = "libcuda.so.1";

StatusOr<void*> OpenDriver(const std::string& path) {
  void* library = dlopen(path.empty() ? kSystemDriver : path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library != nullptr) return library;
  const char* reason = dlerror();
  return Status(StatusCode::kNotSupported,
                "no NVIDIA driver: " + std::string(reason == nullptr ? "dlopen failed" : reason));
}

Status ResolveAll(void* library, CudaFunctions* table) {
#define GMLAKE_RESOLVE(name)                                                                  \
  table->name = reinterpret_cast<decltype(table->name)>(dlsym(library, GMLAKE_SYMBOL(name))); \
  if (table->name == nullptr) {                                                               \
    return Status(StatusCode::kNotSupported,                                                  \
                  "the NVIDIA driver has no " GMLAKE_SYMBOL(name) "; update the driver");     \
  }
  GMLAKE_CUDA_FUNCTIONS(GMLAKE_RESOLVE)
#undef GMLAKE_RESOLVE
  return OkStatus();
}

}  // namespace

StatusOr<CudaFunctions> LoadCuda(const std::string& path) {
  const StatusOr<void*> library = OpenDriver(path);
  if (!library.ok()) return library.status();
  CudaFunctions table;
  const Status resolved = ResolveAll(*library, &table);
  if (!resolved.ok()) return resolved;
  const Status started = ToStatus(table, table.cuInit(0), "cuInit");
  if (!started.ok()) return started;
  return table;
}

}  // namespace gmlake
