#include "cc/emulator/entries/introspection.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>

#include "cc/emulator/calls/calls.h"
#include "cc/emulator/calls/faults.h"
#include "cc/emulator/calls/log.h"
#include "cc/emulator/calls/settings.h"
#include "cc/emulator/device/machine.h"
#include "cc/emulator/device/operation.h"
#include "cc/emulator/modules/modules.h"
#include "cc/emulator/streams/streams.h"

namespace gmlake::emulator {
namespace {

std::unique_lock<std::mutex> Lock() { return std::unique_lock<std::mutex>(machine().mutex); }

struct HostKernels {
  std::mutex mutex;
  std::map<const void*, std::unique_ptr<CUfunc_st>> by_symbol;
};

HostKernels& host_kernels() {
  static auto* const all = new HostKernels;
  return *all;
}

}  // namespace
}  // namespace gmlake::emulator

using namespace gmlake::emulator;  // NOLINT: these are C functions

int gmlake_emulator_devices() { return machine().num_devices(); }

int gmlake_emulator_installed() { return gmlake::emulator::settings().devices; }

int gmlake_emulator_ordinal_of(int number) { return machine().OrdinalOf(number); }

uint64_t gmlake_emulator_violations() { return CountViolations(); }

uint64_t gmlake_emulator_violations_of(const char* rule) {
  for (int i = 0; i < kNumRules; ++i) {
    if (std::strcmp(ToString(static_cast<Rule>(i)), rule) == 0) return CountViolations(static_cast<Rule>(i));
  }
  return UINT64_MAX;
}

size_t gmlake_emulator_describe_violations(char* text, size_t size) {
  const std::string described = DescribeViolations();
  if (size > 0) {
    const size_t copied = std::min(described.size(), size - 1);
    std::memcpy(text, described.data(), copied);
    text[copied] = '\0';
  }
  return described.size();
}

void gmlake_emulator_reset_violations() { ResetViolations(); }

uint64_t gmlake_emulator_calls(const char* name) { return CountCalls(name); }

uint64_t gmlake_emulator_memory_calls() { return CountMemoryCalls(); }

uint64_t gmlake_emulator_launches() { return CountLaunches(); }

size_t gmlake_emulator_used(int device) {
  const auto lock = Lock();
  return machine().has_device(device) ? machine().memory[device].used() : 0;
}

size_t gmlake_emulator_peak(int device) {
  const auto lock = Lock();
  return machine().has_device(device) ? machine().memory[device].peak() : 0;
}

void gmlake_emulator_reset_peak(int device) {
  const auto lock = Lock();
  if (machine().has_device(device)) machine().memory[device].ResetPeak();
}

size_t gmlake_emulator_allocations(int kind) {
  const auto lock = Lock();
  return machine().allocations.Count(static_cast<Kind>(kind));
}

size_t gmlake_emulator_blocks() {
  const auto lock = Lock();
  return machine().blocks.count();
}

size_t gmlake_emulator_mappings() {
  const auto lock = Lock();
  return machine().map.num_mappings();
}

size_t gmlake_emulator_reservations() {
  const auto lock = Lock();
  return machine().map.num_reservations();
}

uint64_t gmlake_emulator_double_unmaps() {
  const auto lock = Lock();
  return machine().map.double_unmaps();
}

int gmlake_emulator_set_faults(const char* script) { return faults().Set(script); }

int gmlake_emulator_log_unsupported(const char* library, const char* name) {
  Log("%s is not emulated (%s)", name, library);
  return 0;
}

// Called by the generated stubs of libcuda itself.
extern "C" int gmlake_unsupported(const char* library, const char* name, char* was_logged, int answer) {
  if (*was_logged == 0) gmlake_emulator_log_unsupported(library, name);
  *was_logged = 1;
  return answer;
}

void* gmlake_emulator_host_kernel(const void* symbol, const char* name) {
  std::lock_guard<std::mutex> lock(host_kernels().mutex);
  std::unique_ptr<CUfunc_st>& kernel = host_kernels().by_symbol[symbol];
  if (kernel == nullptr) {
    kernel = std::make_unique<CUfunc_st>();
    kernel->name = name == nullptr ? "host kernel" : name;
  }
  return kernel.get();
}

int gmlake_emulator_collective(const void* from, size_t from_size, void* to, size_t to_size, int devices,
                               void* stream) {
  static auto* const call = new Call("collective");
  if (const int fault = call->Enter(); fault != 0) return fault;
  Operation collective;
  collective.what = "collective";
  collective.type = CU_GRAPH_NODE_TYPE_KERNEL;
  for (int device = 0; device < devices; ++device) {
    collective.spans.push_back(
        {reinterpret_cast<uint64_t>(from), from_size, device, /*is_write=*/false, /*is_copy=*/false});
    collective.spans.push_back({reinterpret_cast<uint64_t>(to), to_size, device, /*is_write=*/true, /*is_copy=*/false});
  }
  return Submit(static_cast<CUstream>(stream), std::move(collective));
}

int gmlake_emulator_free_too_early(uint64_t address) {
  ExclusiveAccess access;
  const Allocation* allocation = machine().allocations.FindExact(address);
  if (allocation == nullptr || allocation->pool == nullptr) return 0;
  allocation->pool->Free(allocation->begin, allocation->size);
  machine().allocations.Remove(address);
  return 1;
}
