// A table of functions of the driver, made of a list of their names: the pointers, and a way to find them in the
// library.
//
//     #define MY_FUNCTIONS(X) X(cuStreamCreate) X(cuStreamDestroy)
//     struct Functions { GMLAKE_CUDA_TABLE(MY_FUNCTIONS) };
//
// Names are expanded after cuda.h has renamed some of them to their versioned symbol.
#ifndef GMLAKE_DRIVER_CUDA_TABLE_H_
#define GMLAKE_DRIVER_CUDA_TABLE_H_

#include <cuda.h>
#include <dlfcn.h>

#include <string>

#include "cc/base/status.h"

// The members of a struct, and Resolve(library), which says what the library lacks.
#define GMLAKE_CUDA_TABLE(FUNCTIONS)        \
  FUNCTIONS(GMLAKE_CUDA_MEMBER)             \
  ::gmlake::Status Resolve(void* library) { \
    FUNCTIONS(GMLAKE_CUDA_FIND)             \
    return ::gmlake::OkStatus();            \
  }

#define GMLAKE_CUDA_MEMBER(name) decltype(&::name) name = nullptr;
#define GMLAKE_CUDA_FIND(name)                                                                           \
  name = reinterpret_cast<decltype(name)>(dlsym(library, GMLAKE_CUDA_SYMBOL(name)));                     \
  if (name == nullptr) {                                                                                 \
    return ::gmlake::Status(::gmlake::StatusCode::kNotSupported,                                         \
                            "the NVIDIA driver has no " GMLAKE_CUDA_SYMBOL(name) "; update the driver"); \
  }
#define GMLAKE_CUDA_SYMBOL(name) GMLAKE_CUDA_SYMBOL_OF(name)
#define GMLAKE_CUDA_SYMBOL_OF(name) #name

namespace gmlake {

// An empty path means libcuda.so.1 of the system. The library stays loaded: a driver cannot be unloaded safely.
StatusOr<void*> OpenCudaLibrary(const std::string& path);

}  // namespace gmlake

#endif  // GMLAKE_DRIVER_CUDA_TABLE_H_
