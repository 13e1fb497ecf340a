// A library that looks functions up through dlsym, as the stock CUDA plugin does. Tests redirect it.
#include <dlfcn.h>

#define EXPORT extern "C" __attribute__((visibility("default")))

EXPORT void* LookUpIn(void* library, const char* name) {
  void* found = dlsym(library, name);
  __asm__ volatile("" : "+r"(found));  // keeps the call from becoming a jump, so that this library is the caller
  return found;
}
