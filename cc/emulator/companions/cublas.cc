// libcublas: a handle can be made, set up and destroyed; every product does nothing and succeeds, as kernels do.
#include <cstddef>

#include "cc/emulator/companions/companion.h"

namespace {

constexpr int kVersion = 130101;
int g_handle = 0;  // every handle is this one

}  // namespace

GMLAKE_EXPORT int cublasCreate_v2(void** handle) {
  *handle = &g_handle;
  return 0;
}

GMLAKE_EXPORT int cublasDestroy_v2(void*) { return 0; }

GMLAKE_EXPORT int cublasSetStream_v2(void*, void*) { return 0; }

GMLAKE_EXPORT int cublasGetStream_v2(void*, void** stream) {
  *stream = nullptr;
  return 0;
}

GMLAKE_EXPORT int cublasSetWorkspace_v2(void*, void*, size_t) { return 0; }

GMLAKE_EXPORT int cublasSetPointerMode_v2(void*, int) { return 0; }

GMLAKE_EXPORT int cublasGetPointerMode_v2(void*, int* mode) {
  *mode = 0;
  return 0;
}

GMLAKE_EXPORT int cublasSetMathMode(void*, int) { return 0; }

GMLAKE_EXPORT int cublasGetMathMode(void*, int* mode) {
  *mode = 0;
  return 0;
}

GMLAKE_EXPORT int cublasSetAtomicsMode(void*, int) { return 0; }

GMLAKE_EXPORT int cublasSetSmCountTarget(void*, int) { return 0; }

GMLAKE_EXPORT int cublasGetVersion_v2(void*, int* version) {
  *version = kVersion;
  return 0;
}

GMLAKE_EXPORT int cublasGetProperty(int part, int* value) {
  constexpr int kParts[] = {13, 1, 1};
  *value = part >= 0 && part < 3 ? kParts[part] : 0;
  return 0;
}

GMLAKE_EXPORT const char* cublasGetStatusString(int status) {
  return status == 0 ? "CUBLAS_STATUS_SUCCESS" : "CUBLAS_STATUS_EMULATED";
}

GMLAKE_EXPORT const char* cublasGetStatusName(int status) { return cublasGetStatusString(status); }

// The arguments are not looked at, so they are not named.
GMLAKE_EXPORT int cublasSgemm_v2() { return 0; }
GMLAKE_EXPORT int cublasDgemm_v2() { return 0; }
GMLAKE_EXPORT int cublasSgemv_v2() { return 0; }
GMLAKE_EXPORT int cublasSgemmEx() { return 0; }
GMLAKE_EXPORT int cublasSgemmStridedBatched() { return 0; }
GMLAKE_EXPORT int cublasGemmEx() { return 0; }
GMLAKE_EXPORT int cublasGemmBatchedEx() { return 0; }
GMLAKE_EXPORT int cublasGemmStridedBatchedEx() { return 0; }
