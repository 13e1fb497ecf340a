// libcudnn: a handle can be made, so that the client starts; its operations are stubs and fail cleanly.
#include <cstddef>

#include "cc/emulator/companions/companion.h"

namespace {

constexpr size_t kVersion = 92000;
int g_handle = 0;  // every handle is this one

}  // namespace

GMLAKE_EXPORT size_t cudnnGetVersion() { return kVersion; }

GMLAKE_EXPORT size_t cudnnGetCudartVersion() { return 13000; }

GMLAKE_EXPORT int cudnnGetProperty(int part, int* value) {
  constexpr int kParts[] = {9, 20, 0};
  *value = part >= 0 && part < 3 ? kParts[part] : 0;
  return 0;
}

GMLAKE_EXPORT int cudnnCreate(void** handle) {
  *handle = &g_handle;
  return 0;
}

GMLAKE_EXPORT int cudnnDestroy(void*) { return 0; }

GMLAKE_EXPORT int cudnnSetStream(void*, void*) { return 0; }

GMLAKE_EXPORT const char* cudnnGetErrorString(int status) {
  return status == 0 ? "CUDNN_STATUS_SUCCESS" : "CUDNN_STATUS_EMULATED";
}
