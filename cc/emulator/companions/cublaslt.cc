// libcublasLt: descriptors remember their attributes, the search finds one algorithm, products do nothing.
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <vector>

#include "cc/emulator/companions/companion.h"

namespace {

constexpr size_t kVersion = 130101;
int g_handle = 0;  // every handle is this one

// An operation, a matrix layout or a preference: attributes by number.
struct Descriptor {
  std::map<int, std::vector<char>> attributes;

  template <typename T>
  void Set(int attribute, T value) {
    Write(attribute, &value, sizeof value);
  }
  void Write(int attribute, const void* bytes, size_t size) {
    const char* const begin = static_cast<const char*>(bytes);
    attributes[attribute].assign(begin, begin + size);
  }
};

int Make(Descriptor** descriptor) {
  *descriptor = new Descriptor;
  return 0;
}

int Destroy(Descriptor* descriptor) {
  delete descriptor;
  return 0;
}

int Write(Descriptor* descriptor, int attribute, const void* bytes, size_t size) {
  descriptor->Write(attribute, bytes, size);
  return 0;
}

// Attributes that were never set read as zero.
int Read(const Descriptor& descriptor, int attribute, void* bytes, size_t size, size_t* written) {
  std::memset(bytes, 0, size);
  const auto found = descriptor.attributes.find(attribute);
  const size_t known = found == descriptor.attributes.end() ? size : found->second.size();
  if (written != nullptr) *written = known;
  if (found != descriptor.attributes.end() && size >= known) std::memcpy(bytes, found->second.data(), known);
  return 0;
}

// cublasLtMatmulHeuristicResult_t.
struct Found {
  uint64_t algorithm[8];
  size_t workspace;
  int state;
  float waves;
  int reserved[4];
};

}  // namespace

GMLAKE_EXPORT int cublasLtCreate(void** handle) {
  *handle = &g_handle;
  return 0;
}

GMLAKE_EXPORT int cublasLtDestroy(void*) { return 0; }

GMLAKE_EXPORT size_t cublasLtGetVersion() { return kVersion; }

GMLAKE_EXPORT int cublasLtGetProperty(int part, int* value) {
  constexpr int kParts[] = {13, 1, 1};
  *value = part >= 0 && part < 3 ? kParts[part] : 0;
  return 0;
}

GMLAKE_EXPORT const char* cublasLtGetStatusString(int status) {
  return status == 0 ? "CUBLAS_STATUS_SUCCESS" : "CUBLAS_STATUS_EMULATED";
}

GMLAKE_EXPORT const char* cublasLtGetStatusName(int status) { return cublasLtGetStatusString(status); }

GMLAKE_EXPORT int cublasLtMatmulDescCreate(Descriptor** descriptor, int compute_type, int scale_type) {
  Make(descriptor);
  (*descriptor)->Set(0, compute_type);
  (*descriptor)->Set(1, scale_type);
  return 0;
}

GMLAKE_EXPORT int cublasLtMatmulDescDestroy(Descriptor* descriptor) { return Destroy(descriptor); }

GMLAKE_EXPORT int cublasLtMatmulDescSetAttribute(Descriptor* descriptor, int attribute, const void* bytes,
                                                 size_t size) {
  return Write(descriptor, attribute, bytes, size);
}

GMLAKE_EXPORT int cublasLtMatmulDescGetAttribute(Descriptor* descriptor, int attribute, void* bytes, size_t size,
                                                 size_t* written) {
  return Read(*descriptor, attribute, bytes, size, written);
}

// Attributes of a layout: 0 type, 2 rows, 3 columns, 4 leading dimension, 5 batches.
GMLAKE_EXPORT int cublasLtMatrixLayoutCreate(Descriptor** layout, int type, uint64_t rows, uint64_t columns,
                                             int64_t leading) {
  Make(layout);
  (*layout)->Set(0, type);
  (*layout)->Set(2, rows);
  (*layout)->Set(3, columns);
  (*layout)->Set(4, leading);
  (*layout)->Set(5, 1);
  return 0;
}

GMLAKE_EXPORT int cublasLtMatrixLayoutDestroy(Descriptor* layout) { return Destroy(layout); }

GMLAKE_EXPORT int cublasLtMatrixLayoutSetAttribute(Descriptor* layout, int attribute, const void* bytes, size_t size) {
  return Write(layout, attribute, bytes, size);
}

GMLAKE_EXPORT int cublasLtMatrixLayoutGetAttribute(Descriptor* layout, int attribute, void* bytes, size_t size,
                                                   size_t* written) {
  return Read(*layout, attribute, bytes, size, written);
}

GMLAKE_EXPORT int cublasLtMatmulPreferenceCreate(Descriptor** preference) { return Make(preference); }

GMLAKE_EXPORT int cublasLtMatmulPreferenceDestroy(Descriptor* preference) { return Destroy(preference); }

GMLAKE_EXPORT int cublasLtMatmulPreferenceSetAttribute(Descriptor* preference, int attribute, const void* bytes,
                                                       size_t size) {
  return Write(preference, attribute, bytes, size);
}

GMLAKE_EXPORT int cublasLtMatmulAlgoGetHeuristic(void*, void*, void*, void*, void*, void*, void*, int wanted,
                                                 Found* found, int* count) {
  *count = wanted > 0 ? 1 : 0;
  if (*count == 0) return 0;
  *found = {};
  found->algorithm[0] = 1;
  found->waves = 1;
  return 0;
}

GMLAKE_EXPORT int cublasLtMatmulAlgoConfigGetAttribute(const void*, int, void* bytes, size_t size, size_t* written) {
  std::memset(bytes, 0, size);
  if (written != nullptr) *written = size;
  return 0;
}

// The arguments are not looked at, so they are not named.
GMLAKE_EXPORT int cublasLtMatmul() { return 0; }
