#include "cc/driver/device_processes.h"

#include <dlfcn.h>

#include <algorithm>
#include <fstream>

namespace gmlake {
namespace {

// nvmlProcessInfo_v2_t, which nvmlDeviceGetComputeRunningProcesses_v3 fills.
struct ProcessInfo {
  unsigned pid;
  unsigned long long used;
  unsigned gpu_instance;
  unsigned compute_instance;
};

// NVML's value for "not available".
constexpr unsigned long long kUnknown = ~0ull;
constexpr unsigned kMostProcesses = 64;
constexpr int kSuccess = 0;

struct Nvml {
  int (*init)() = nullptr;
  int (*find)(const char* bus_id, void** device) = nullptr;
  int (*list)(void* device, unsigned* count, ProcessInfo* infos) = nullptr;
};

template <typename Function>
bool LookUp(void* library, const char* name, Function* function) {
  *function = reinterpret_cast<Function>(dlsym(library, name));
  return *function != nullptr;
}

// Stays loaded: the driver's libraries do not like to be unloaded.
bool Load(Nvml* nvml) {
  void* library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
  return library != nullptr && LookUp(library, "nvmlInit_v2", &nvml->init) &&
         LookUp(library, "nvmlDeviceGetHandleByPciBusId_v2", &nvml->find) &&
         LookUp(library, "nvmlDeviceGetComputeRunningProcesses_v3", &nvml->list) && nvml->init() == kSuccess;
}

std::string NameOf(unsigned pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/comm");
  std::string name;
  return std::getline(file, name) ? name : "a process";
}

std::vector<ProcessUse> Convert(const ProcessInfo* infos, unsigned count) {
  std::vector<ProcessUse> processes;
  for (const ProcessInfo* info = infos; info != infos + count; ++info) {
    if (info->used == kUnknown) continue;
    processes.push_back({info->pid, NameOf(info->pid), Bytes(static_cast<int64_t>(info->used))});
  }
  std::sort(processes.begin(), processes.end(),
            [](const ProcessUse& a, const ProcessUse& b) { return b.used < a.used; });
  return processes;
}

}  // namespace

std::vector<ProcessUse> ProcessesOn(const std::string& pci_bus_id) {
  Nvml nvml;
  void* device = nullptr;
  ProcessInfo infos[kMostProcesses];
  unsigned count = kMostProcesses;
  if (pci_bus_id.empty() || !Load(&nvml)) return {};
  if (nvml.find(pci_bus_id.c_str(), &device) != kSuccess) return {};
  if (nvml.list(device, &count, infos) != kSuccess) return {};
  return Convert(infos, count);
}

}  // namespace gmlake
