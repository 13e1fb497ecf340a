// Driver entry points: looking up the others, and names that older headers use for the same functions.
#include <dlfcn.h>

#include <string>

#include "cc/emulator/calls/calls.h"
#include "cc/emulator/calls/cuda_api.h"
#include "cc/emulator/calls/log.h"

namespace gmlake::emulator {
namespace {

// This library itself, however it was loaded.
void* Self() {
  static void* const self = [] {
    Dl_info info;
    const bool found = dladdr(reinterpret_cast<void*>(&Self), &info) != 0;
    return found ? dlopen(info.dli_fname, RTLD_NOW | RTLD_NOLOAD) : nullptr;
  }();
  return self;
}

// The newest form of the function.
void* FindNewest(const std::string& name) {
  for (const char* suffix : {"_v3", "_v2", ""}) {
    if (void* function = dlsym(Self(), (name + suffix).c_str())) return function;
  }
  return nullptr;
}

}  // namespace
}  // namespace gmlake::emulator

CUresult CUDAAPI cuGetProcAddress(const char* name, void** function, int, cuuint64_t,
                                  CUdriverProcAddressQueryResult* status) {
  GMLAKE_ENTRY();
  *function = gmlake::emulator::FindNewest(name);
  const bool found = *function != nullptr;
  if (!found) gmlake::emulator::Log("cuGetProcAddress: there is no %s", name);
  if (status != nullptr) *status = found ? CU_GET_PROC_ADDRESS_SUCCESS : CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
  return found ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}

// cuda.h names only the second version; programs built with older headers ask for the first.
#pragma push_macro("cuEventElapsedTime")
#pragma push_macro("cuDeviceGetUuid")
#undef cuEventElapsedTime
#undef cuDeviceGetUuid
#pragma GCC visibility push(default)
extern "C" CUresult CUDAAPI cuEventElapsedTime(float* milliseconds, CUevent start, CUevent end) {
  return cuEventElapsedTime_v2(milliseconds, start, end);
}

extern "C" CUresult CUDAAPI cuDeviceGetUuid(CUuuid* uuid, CUdevice device) { return cuDeviceGetUuid_v2(uuid, device); }
#pragma GCC visibility pop
#pragma pop_macro("cuEventElapsedTime")
#pragma pop_macro("cuDeviceGetUuid")
