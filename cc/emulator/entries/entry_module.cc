// Driver entry points: modules, functions, launches.
#include <algorithm>
#include <cstring>

#include "cc/emulator/calls/calls.h"
#include "cc/emulator/calls/cuda_api.h"
#include "cc/emulator/modules/modules.h"
#include "cc/emulator/streams/capture.h"
#include "cc/emulator/streams/streams.h"

namespace gmlake::emulator {
namespace {

constexpr int kThreadsPerMultiprocessor = 2048;
constexpr int kMostBlocksPerMultiprocessor = 32;

int FunctionAttribute(const CUfunc_st& function, CUfunction_attribute attribute) {
  switch (attribute) {
    case CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK: return 1024;
    case CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES: return static_cast<int>(function.info.shared_bytes);
    case CU_FUNC_ATTRIBUTE_NUM_REGS: return 32;
    case CU_FUNC_ATTRIBUTE_PTX_VERSION:
    case CU_FUNC_ATTRIBUTE_BINARY_VERSION: return 90;
    case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES: return function.max_dynamic_shared_bytes;
    default: return 0;
  }
}

int BlocksPerMultiprocessor(int block_size) {
  return std::clamp(kThreadsPerMultiprocessor / std::max(block_size, 1), 1, kMostBlocksPerMultiprocessor);
}

CUresult Launch(CUfunction function, CUstream stream, void** arguments) {
  return Submit(stream, LaunchOperation(function, arguments, DeviceOf(stream)));
}

}  // namespace
}  // namespace gmlake::emulator

using namespace gmlake::emulator;  // NOLINT: entry points are in the global namespace

CUresult CUDAAPI cuModuleLoadData(CUmodule* module, const void* image) {
  GMLAKE_ENTRY();
  return LoadModule(image, module);
}

CUresult CUDAAPI cuModuleLoadDataEx(CUmodule* module, const void* image, unsigned, CUjit_option*, void**) {
  GMLAKE_ENTRY();
  return LoadModule(image, module);
}

CUresult CUDAAPI cuModuleLoadFatBinary(CUmodule* module, const void* image) {
  GMLAKE_ENTRY();
  return LoadModule(image, module);
}

CUresult CUDAAPI cuModuleUnload(CUmodule module) {
  GMLAKE_ENTRY();
  DrainAllDevices();
  UnloadModule(module);
  return CUDA_SUCCESS;
}

CUresult CUDAAPI cuModuleGetFunction(CUfunction* function, CUmodule module, const char* name) {
  GMLAKE_ENTRY();
  *function = FindKernel(module, name);
  return *function == nullptr ? CUDA_ERROR_NOT_FOUND : CUDA_SUCCESS;
}

CUresult CUDAAPI cuModuleGetGlobal(CUdeviceptr* address, size_t* size, CUmodule module, const char* name) {
  GMLAKE_ENTRY();
  const auto found = module->globals.find(name);
  if (found == module->globals.end()) return CUDA_ERROR_NOT_FOUND;
  if (address != nullptr) *address = found->second.address;
  if (size != nullptr) *size = found->second.size;
  return CUDA_SUCCESS;
}

CUresult CUDAAPI cuModuleGetLoadingMode(CUmoduleLoadingMode* mode) {
  GMLAKE_ENTRY();
  *mode = CU_MODULE_EAGER_LOADING;
  return CUDA_SUCCESS;
}

CUresult CUDAAPI cuLibraryLoadData(CUlibrary* library, const void* image, CUjit_option*, void**, unsigned,
                                   CUlibraryOption*, void**, unsigned) {
  GMLAKE_ENTRY();
  return LoadModule(image, reinterpret_cast<CUmodule*>(library));
}

CUresult CUDAAPI cuLibraryUnload(CUlibrary library) {
  GMLAKE_ENTRY();
  DrainAllDevices();
  UnloadModule(reinterpret_cast<CUmodule>(library));
  return CUDA_SUCCESS;
}

CUresult CUDAAPI cuLibraryGetKernel(CUkernel* kernel, CUlibrary library, const char* name) {
  GMLAKE_ENTRY();
  *kernel = reinterpret_cast<CUkernel>(FindKernel(reinterpret_cast<CUmodule>(library), name));
  return *kernel == nullptr ? CUDA_ERROR_NOT_FOUND : CUDA_SUCCESS;
}

CUresult CUDAAPI cuLibraryGetModule(CUmodule* module, CUlibrary library) {
  GMLAKE_ENTRY();
  *module = reinterpret_cast<CUmodule>(library);
  return CUDA_SUCCESS;
}

CUresult CUDAAPI cuKernelGetFunction(CUfunction* function, CUkernel kernel) {
  GMLAKE_ENTRY();
  *function = reinterpret_cast<CUfunction>(kernel);
  return CUDA_SUCCESS;
}

CUresult CUDAAPI cuFuncGetAttribute(int* value, CUfunction_attribute attribute, CUfunction function) {
  GMLAKE_ENTRY();
  *value = FunctionAttribute(*function, attribute);
  return CUDA_SUCCESS;
}

CUresult CUDAAPI cuFuncSetAttribute(CUfunction function, CUfunction_attribute attribute, int value) {
  GMLAKE_ENTRY();
  if (attribute == CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES) function->max_dynamic_shared_bytes = value;
  return CUDA_SUCCESS;
}

CUresult CUDAAPI cuFuncSetCacheConfig(CUfunction, CUfunc_cache) {
  GMLAKE_ENTRY();
  return CUDA_SUCCESS;
}

CUresult CUDAAPI cuFuncGetModule(CUmodule* module, CUfunction function) {
  GMLAKE_ENTRY();
  *module = function->module;
  return CUDA_SUCCESS;
}

CUresult CUDAAPI cuFuncGetName(const char** name, CUfunction function) {
  GMLAKE_ENTRY();
  *name = function->name.c_str();
  return CUDA_SUCCESS;
}

CUresult CUDAAPI cuFuncGetParamInfo(CUfunction function, size_t index, size_t* offset, size_t* size) {
  GMLAKE_ENTRY();
  const auto& parameters = function->info.parameters;
  if (index >= parameters.size()) return CUDA_ERROR_INVALID_VALUE;
  *offset = parameters[index].offset;
  if (size != nullptr) *size = parameters[index].size;
  return CUDA_SUCCESS;
}

CUresult CUDAAPI cuOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, CUfunction, int block_size, size_t) {
  GMLAKE_ENTRY();
  *blocks = BlocksPerMultiprocessor(block_size);
  return CUDA_SUCCESS;
}

CUresult CUDAAPI cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* blocks, CUfunction, int block_size, size_t,
                                                                      unsigned) {
  GMLAKE_ENTRY();
  *blocks = BlocksPerMultiprocessor(block_size);
  return CUDA_SUCCESS;
}

CUresult CUDAAPI cuOccupancyMaxPotentialBlockSize(int* grid, int* block, CUfunction, CUoccupancyB2DSize, size_t, int) {
  GMLAKE_ENTRY();
  *grid = 264;
  *block = 1024;
  return CUDA_SUCCESS;
}

CUresult CUDAAPI cuLaunchKernel(CUfunction function, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                                unsigned, CUstream stream, void** arguments, void**) {
  GMLAKE_ENTRY();
  return Launch(function, stream, arguments);
}

CUresult CUDAAPI cuLaunchKernelEx(const CUlaunchConfig* config, CUfunction function, void** arguments, void**) {
  GMLAKE_ENTRY();
  return Launch(function, config->hStream, arguments);
}

CUresult CUDAAPI cuLaunchCooperativeKernel(CUfunction function, unsigned, unsigned, unsigned, unsigned, unsigned,
                                           unsigned, unsigned, CUstream stream, void** arguments) {
  GMLAKE_ENTRY();
  return Launch(function, stream, arguments);
}

// Carries the tensor's address in its first bytes, where LaunchOperation finds it.
CUresult CUDAAPI cuTensorMapEncodeTiled(CUtensorMap* map, CUtensorMapDataType, cuuint32_t, void* address,
                                        const cuuint64_t*, const cuuint64_t*, const cuuint32_t*, const cuuint32_t*,
                                        CUtensorMapInterleave, CUtensorMapSwizzle, CUtensorMapL2promotion,
                                        CUtensorMapFloatOOBfill) {
  GMLAKE_ENTRY();
  std::memset(map, 0, sizeof *map);
  std::memcpy(map, &address, sizeof address);
  return CUDA_SUCCESS;
}
