// Loaded programs: kernels by name, and global variables in device memory.
#ifndef GMLAKE_EMULATOR_MODULES_MODULES_H_
#define GMLAKE_EMULATOR_MODULES_MODULES_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "cc/emulator/calls/cuda_api.h"
#include "cc/emulator/device/operation.h"
#include "cc/emulator/modules/cubin.h"

struct CUfunc_st {
  std::string name;
  gmlake::emulator::KernelInfo info;
  CUmodule module = nullptr;
  int max_dynamic_shared_bytes = 49152;
};

struct CUmod_st {
  struct Global {
    CUdeviceptr address;
    size_t size;
  };
  std::map<std::string, std::unique_ptr<CUfunc_st>> kernels;
  std::map<std::string, Global> globals;
  // What was loaded could not be read (PTX text), so every name asked for is taken to be a kernel.
  bool is_opaque = false;
};

namespace gmlake::emulator {

CUresult LoadModule(const void* image, CUmodule* module);
void UnloadModule(CUmodule module);
// Null if the module has no such kernel.
CUfunction FindKernel(CUmodule module, const char* name);

// A launch does nothing but check, when its turn comes, that every device pointer among its arguments is good: whole
// arguments are searched for addresses in the window, so pointers inside structures are found too.
Operation LaunchOperation(CUfunction function, void** arguments, int device);

uint64_t CountLaunches();

}  // namespace gmlake::emulator

#endif  // GMLAKE_EMULATOR_MODULES_MODULES_H_
