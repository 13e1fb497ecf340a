// libnvidia-ml: enough to find the devices and describe them.
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>

#include "cc/emulator/companions/companion.h"

namespace {

constexpr int kInvalidArgument = 2;
constexpr int kNotSupported = 3;
constexpr int kNotFound = 6;
constexpr int kInsufficientSize = 7;

// nvmlFieldValue_t and nvmlGpuFabricInfoV_t. Both are answered with "there is no such thing here", which keeps XLA's
// log quiet.
struct FieldValue {
  unsigned field, scope;
  int64_t timestamp, latency_us;
  int type, status;
  uint64_t value;
};

struct FabricInfo {
  unsigned version;
  unsigned char cluster[16];
  int status;
  unsigned clique;
  unsigned char state;  // 0: not supported
};

// nvmlConfComputeSystemState_t: confidential computing is off.
struct ConfidentialComputing {
  unsigned environment, feature, developer_mode;
};

struct ProcessInfo {
  unsigned pid;
  unsigned long long used;
  unsigned gpu_instance, compute_instance;
};

// NVML knows every device of the machine, whatever CUDA_VISIBLE_DEVICES says.
//
// A handle is the device's number plus one: null is no device.
void* HandleOf(unsigned device) { return reinterpret_cast<void*>(static_cast<uintptr_t>(device) + 1); }

bool Exists(unsigned device) { return static_cast<int>(device) < gmlake::emulator::CountInstalled(); }

int Store(unsigned* where, unsigned value) {
  *where = value;
  return 0;
}

}  // namespace

GMLAKE_EXPORT int nvmlInit() { return 0; }

GMLAKE_EXPORT int nvmlInit_v2() { return 0; }

GMLAKE_EXPORT int nvmlInitWithFlags(unsigned) { return 0; }

GMLAKE_EXPORT int nvmlShutdown() { return 0; }

GMLAKE_EXPORT const char* nvmlErrorString(int error) { return error == 0 ? "Success" : "emulated NVML error"; }

GMLAKE_EXPORT int nvmlSystemGetDriverVersion(char* version, unsigned size) {
  std::snprintf(version, size, "580.65.06");
  return 0;
}

GMLAKE_EXPORT int nvmlSystemGetNVMLVersion(char* version, unsigned size) {
  std::snprintf(version, size, "13.580.65.06");
  return 0;
}

GMLAKE_EXPORT int nvmlSystemGetCudaDriverVersion_v2(int* version) {
  *version = 13000;
  return 0;
}

GMLAKE_EXPORT int nvmlDeviceGetCount_v2(unsigned* count) {
  *count = static_cast<unsigned>(gmlake::emulator::CountInstalled());
  return 0;
}

GMLAKE_EXPORT int nvmlDeviceGetHandleByIndex_v2(unsigned index, void** handle) {
  if (!Exists(index)) return kInvalidArgument;
  *handle = HandleOf(index);
  return 0;
}

// The driver puts device i on bus i + 1.
GMLAKE_EXPORT int nvmlDeviceGetHandleByPciBusId_v2(const char* id, void** handle) {
  unsigned domain = 0, bus = 0;
  if (std::sscanf(id, "%x:%x", &domain, &bus) != 2 || bus == 0 || !Exists(bus - 1)) return kNotFound;
  *handle = HandleOf(bus - 1);
  return 0;
}

// This process alone uses the device, if it sees it.
GMLAKE_EXPORT int nvmlDeviceGetComputeRunningProcesses_v3(void* device, unsigned* count, ProcessInfo* processes) {
  if (*count == 0) return kInsufficientSize;
  const int number = static_cast<int>(reinterpret_cast<uintptr_t>(device)) - 1;
  const int ordinal = gmlake::emulator::CallDriver<int>("gmlake_emulator_ordinal_of", -1, number);
  if (ordinal < 0) return Store(count, 0);
  processes[0] = {static_cast<unsigned>(getpid()),
                  gmlake::emulator::CallDriver<size_t>("gmlake_emulator_used", 0, ordinal), 0, 0};
  return Store(count, 1);
}

GMLAKE_EXPORT int nvmlDeviceGetMigMode(void*, unsigned* current, unsigned* pending) {
  *current = *pending = 0;
  return 0;
}

GMLAKE_EXPORT int nvmlDeviceGetCurrPcieLinkGeneration(void*, unsigned* generation) { return Store(generation, 5); }

GMLAKE_EXPORT int nvmlDeviceGetMaxPcieLinkGeneration(void*, unsigned* generation) { return Store(generation, 5); }

GMLAKE_EXPORT int nvmlDeviceGetCurrPcieLinkWidth(void*, unsigned* width) { return Store(width, 16); }

GMLAKE_EXPORT int nvmlDeviceGetMaxPcieLinkWidth(void*, unsigned* width) { return Store(width, 16); }

GMLAKE_EXPORT int nvmlDeviceGetNvLinkState(void*, unsigned, unsigned* is_active) { return Store(is_active, 0); }

GMLAKE_EXPORT int nvmlDeviceGetFieldValues(void*, int count, FieldValue* values) {
  for (int i = 0; i < count; ++i) values[i].status = kNotSupported;
  return 0;
}

GMLAKE_EXPORT int nvmlDeviceGetGpuFabricInfoV(void*, FabricInfo* info) {
  std::memset(info->cluster, 0, sizeof info->cluster);
  info->status = 0;
  info->clique = 0;
  info->state = 0;
  return 0;
}

GMLAKE_EXPORT int nvmlSystemGetConfComputeState(ConfidentialComputing* state) {
  *state = {};
  return 0;
}
