// A CUDA driver reached by path, so that the same questions can be put to a real one and to the emulator.
//
// Only this folder's programs use it; nothing here links libcuda.
#ifndef GMLAKE_EMULATOR_CONFORMANCE_DRIVER_UNDER_TEST_H_
#define GMLAKE_EMULATOR_CONFORMANCE_DRIVER_UNDER_TEST_H_

#include <cuda.h>
#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>

namespace gmlake::conformance {

// Entry points by the names that cuda.h gives them (cuMemAlloc is looked up as cuMemAlloc_v2).
#define GMLAKE_NAME_OF_(name) #name
#define GMLAKE_NAME_OF(name) GMLAKE_NAME_OF_(name)
#define GMLAKE_CALL(name) (reinterpret_cast<decltype(&::name)>(::gmlake::conformance::Find(GMLAKE_NAME_OF(name))))

inline void*& Library() {
  static void* library = nullptr;
  return library;
}

inline void Open(const char* path) {
  Library() = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (Library() == nullptr) {
    std::fprintf(stderr, "%s\n", dlerror());
    std::exit(2);
  }
}

inline void* Find(const char* name) {
  void* function = dlsym(Library(), name);
  if (function == nullptr) {
    std::fprintf(stderr, "the driver has no %s\n", name);
    std::exit(2);
  }
  return function;
}

// For steps of a question that are not the question: they must work.
#define GMLAKE_MUST(call)                                                           \
  do {                                                                              \
    const CUresult must = (call);                                                   \
    if (must != CUDA_SUCCESS) {                                                     \
      std::fprintf(stderr, "%s:%d: %s gave %d\n", __FILE__, __LINE__, #call, must); \
      std::exit(3);                                                                 \
    }                                                                               \
  } while (0)

}  // namespace gmlake::conformance

#endif  // GMLAKE_EMULATOR_CONFORMANCE_DRIVER_UNDER_TEST_H_
