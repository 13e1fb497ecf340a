// What the owner of an allocator chooses and asks: limits, thresholds, patience, and how a device falls asleep.
#ifndef GMLAKE_CORE_ALLOCATOR_OPTIONS_H_
#define GMLAKE_CORE_ALLOCATOR_OPTIONS_H_

#include <chrono>
#include <cstdint>
#include <functional>
#include <vector>

#include "cc/base/bytes.h"
#include "cc/core/mapping/reclaimer.h"
#include "cc/core/ranges/memory.h"
#include "cc/core/tables/thresholds.h"
#include "cc/driver/host_copier.h"

namespace gmlake {

// True: the wait ends now, before its deadline.
using InterruptCheck = std::function<bool()>;

// How long a request may wait before it is refused.
struct Patience {
  std::chrono::milliseconds for_leases{0};  // the limit is in the way: for leases of this allocator to end
  std::chrono::milliseconds for_device{0};  // the device is full: for others to give memory back
  // Called under the lock where a long wait begins. The check that it returns is called every few milliseconds, without
  // the lock, and is destroyed when the wait ends. Null: nothing interrupts a wait.
  std::function<InterruptCheck()> watch_interrupts = nullptr;
};

struct AllocatorOptions {
  Bytes limit;                // physical bytes held never exceed this
  ReclaimBudget budget = {};  // idle aliases that Maintain leaves in place
  Thresholds thresholds = {};
  HostCopier* copier = nullptr;  // null: the device cannot sleep
  Patience patience = {};
  RangeSize range_size = {};
};

struct SleepRequest {
  std::vector<int32_t> dropped_tags;      // leases with these tags are not kept: they are zero afterwards
  std::chrono::milliseconds patience{0};  // how long queued work may still take
};

}  // namespace gmlake

#endif  // GMLAKE_CORE_ALLOCATOR_OPTIONS_H_
