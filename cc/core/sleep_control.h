// Decides whether a device may fall asleep or wake now, and which leases are not kept. The steps themselves are in
// sleeper.h.
#ifndef GMLAKE_CORE_SLEEP_CONTROL_H_
#define GMLAKE_CORE_SLEEP_CONTROL_H_

#include <chrono>
#include <cstdint>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "cc/base/bytes.h"
#include "cc/base/mutex.h"
#include "cc/base/status.h"
#include "cc/core/allocator_options.h"
#include "cc/core/allocator_parts.h"
#include "cc/core/mapping/stream_order.h"
#include "cc/core/sleep/sleeper.h"
#include "cc/core/tables/chunk.h"
#include "cc/driver/handles.h"
#include "cc/driver/host_copier.h"

namespace gmlake {

// Model: tags of live leases, and whether a thread moves contents. Invariant: at most one thread at a time falls asleep
// or wakes, and it has the copier to itself. Thread rule: the allocator's lock, which Sleep and Wake release while they
// wait and copy. Cost: as Sleeper; before a sleep, a wait for the device.
class SleepControl {
 public:
  // `copier` may be null: then the device cannot sleep.
  SleepControl(AllocatorParts* parts, HostCopier* copier) : parts_(parts), copier_(copier) {}
  SleepControl(const SleepControl&) = delete;
  SleepControl& operator=(const SleepControl&) = delete;

  // These are as the allocator's methods of similar names.
  Status Prepare(std::optional<Bytes> size);
  StatusOr<SleepReport> Sleep(const SleepRequest& request, Mutex* mutex) GMLAKE_REQUIRES(mutex);
  StatusOr<SleepReport> Wake(Mutex* mutex) GMLAKE_REQUIRES(mutex);
  bool Read(Address address, Bytes size, char* to) const;
  void ReleaseStore();

  bool Tag(Address address, int32_t tag);
  // The lease at `address` has ended.
  void OnFree(Address address) {
    if (!tags_.empty()) tags_.erase(address.value());
  }

 private:
  StatusOr<SleepReport> FallAsleep(const SleepRequest& request, Mutex* mutex) GMLAKE_REQUIRES(mutex);
  Status AwaitIdle(std::chrono::milliseconds patience, Mutex* mutex) GMLAKE_REQUIRES(mutex);
  Status AwaitFence(const Fence& fence, std::chrono::milliseconds patience);
  Status AwaitEnd(const ScopedEvent& end, std::chrono::steady_clock::time_point deadline);
  std::unordered_set<ChunkId> LeasesTagged(const std::vector<int32_t>& tags) const;

  AllocatorParts* const parts_;
  HostCopier* const copier_;
  bool moving_ = false;                         // a thread falls asleep or wakes
  std::unordered_map<uint64_t, int32_t> tags_;  // by address
};

}  // namespace gmlake

#endif  // GMLAKE_CORE_SLEEP_CONTROL_H_
