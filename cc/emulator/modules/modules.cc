#include "cc/emulator/modules/modules.h"

#include <atomic>
#include <cstring>
#include <mutex>

#include "cc/emulator/calls/settings.h"
#include "cc/emulator/device/context.h"
#include "cc/emulator/device/machine.h"

namespace gmlake::emulator {
namespace {

std::atomic<uint64_t> g_launches{0};

std::mutex& ModuleMutex() {
  static auto* const mutex = new std::mutex;
  return *mutex;
}

std::unique_ptr<CUfunc_st> MakeKernel(CUmodule module, const std::string& name, const KernelInfo& info) {
  auto kernel = std::make_unique<CUfunc_st>();
  kernel->name = name;
  kernel->info = info;
  kernel->module = module;
  return kernel;
}

CUresult AddGlobal(CUmodule module, const std::string& name, const std::vector<char>& bytes) {
  ExclusiveAccess access;
  const int device = CurrentDevice();
  MemoryPool* plain = machine().devices[device].plain.get();
  const std::optional<uint64_t> begin = plain->Allocate(bytes.size());
  if (!begin) return CUDA_ERROR_OUT_OF_MEMORY;
  machine().allocations.Add(*begin, bytes.size(), Kind::kPlain, device, plain);
  std::memcpy(reinterpret_cast<void*>(*begin), bytes.data(), bytes.size());
  module->globals[name] = {*begin, bytes.size()};
  return CUDA_SUCCESS;
}

void FreeGlobals(const CUmod_st& module) {
  ExclusiveAccess access;
  for (const auto& [name, global] : module.globals) {
    const Allocation* allocation = machine().allocations.FindExact(global.address);
    allocation->pool->Free(allocation->begin, allocation->size);
    allocation->pool->ReleaseDownToThreshold();
    machine().allocations.Remove(global.address);
  }
}

// Pointers lie on 8-byte boundaries of an argument.
void AddPointers(const void* argument, size_t size, int device, std::vector<Span>* spans) {
  for (size_t at = 0; at + sizeof(uint64_t) <= size; at += sizeof(uint64_t)) {
    uint64_t value = 0;
    std::memcpy(&value, static_cast<const char*>(argument) + at, sizeof value);
    if (machine().window.Contains(value)) spans->push_back(SpanOfKernelPointer(value, device));
  }
}

}  // namespace

CUresult LoadModule(const void* image, CUmodule* module) {
  Cubin cubin;
  auto loaded = std::make_unique<CUmod_st>();
  loaded->is_opaque = !ReadCubin(image, &cubin);
  for (const auto& [name, info] : cubin.kernels) loaded->kernels[name] = MakeKernel(loaded.get(), name, info);
  for (const auto& [name, bytes] : cubin.globals) {
    if (const CUresult added = AddGlobal(loaded.get(), name, bytes); added != CUDA_SUCCESS) {
      FreeGlobals(*loaded);
      return added;
    }
  }
  *module = loaded.release();
  return CUDA_SUCCESS;
}

void UnloadModule(CUmodule module) {
  FreeGlobals(*module);
  delete module;
}

CUfunction FindKernel(CUmodule module, const char* name) {
  std::lock_guard<std::mutex> lock(ModuleMutex());
  const auto found = module->kernels.find(name);
  if (found != module->kernels.end()) return found->second.get();
  if (!module->is_opaque) return nullptr;
  module->kernels[name] = MakeKernel(module, name, {});
  return module->kernels[name].get();
}

Operation LaunchOperation(CUfunction function, void** arguments, int device) {
  ++g_launches;
  Operation launch;
  launch.what = function->name;
  launch.type = CU_GRAPH_NODE_TYPE_KERNEL;
  if (!settings().checks || arguments == nullptr) return launch;
  const std::vector<Parameter>& parameters = function->info.parameters;
  for (size_t i = 0; i < parameters.size(); ++i) {
    if (arguments[i] != nullptr) AddPointers(arguments[i], parameters[i].size, device, &launch.spans);
  }
  return launch;
}

uint64_t CountLaunches() { return g_launches; }

}  // namespace gmlake::emulator
