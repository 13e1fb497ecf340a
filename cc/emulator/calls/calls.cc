#include "cc/emulator/calls/calls.h"

#include <unistd.h>

#include <cstring>
#include <mutex>
#include <vector>

#include "cc/emulator/calls/faults.h"
#include "cc/emulator/calls/log.h"
#include "cc/emulator/calls/settings.h"

namespace gmlake::emulator {
namespace {

// The entry points called so far.
struct Registry {
  std::mutex mutex;
  std::vector<const Call*> calls;
};

Registry& registry() {
  static auto* const all = new Registry;
  return *all;
}

constexpr const char* kMemoryCalls[] = {"cuMemCreate",
                                        "cuMemMap",
                                        "cuMemSetAccess",
                                        "cuMemUnmap",
                                        "cuMemRelease",
                                        "cuMemAddressReserve",
                                        "cuMemAddressFree",
                                        "cuMemAlloc_v2",
                                        "cuMemFree_v2",
                                        "cuMemAllocAsync",
                                        "cuMemAllocFromPoolAsync",
                                        "cuMemFreeAsync"};

}  // namespace

Call::Call(const char* name) : name_(name) {
  std::lock_guard<std::mutex> lock(registry().mutex);
  registry().calls.push_back(this);
}

int Call::Enter() {
  ++count_;
  if (settings().trace) Log("%s", name_);
  if (faults().empty()) return 0;
  const Fault fault = faults().Next(name_);
  if (fault.delay_us > 0) usleep(fault.delay_us);
  if (fault.code != 0) Log("%s fails with %d, as scripted", name_, fault.code);
  return fault.code;
}

uint64_t CountCalls(const char* name) {
  std::lock_guard<std::mutex> lock(registry().mutex);
  for (const Call* call : registry().calls) {
    if (std::strcmp(call->name(), name) == 0) return call->count();
  }
  return 0;
}

uint64_t CountMemoryCalls() {
  uint64_t sum = 0;
  for (const char* name : kMemoryCalls) sum += CountCalls(name);
  return sum;
}

}  // namespace gmlake::emulator
