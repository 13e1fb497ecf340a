// A device that is late: work is over only so many requests after it was queued, or when somebody waits for it.
#ifndef GMLAKE_BENCH_LATE_DRIVER_H_
#define GMLAKE_BENCH_LATE_DRIVER_H_

#include <algorithm>
#include <cstdint>
#include <limits>
#include <unordered_map>

#include "cc/base/bytes.h"
#include "cc/base/status.h"
#include "cc/driver/driver.h"
#include "cc/driver/model_driver.h"

namespace gmlake::bench {

// Model: a ModelDriver and a clock of requests. An event completes `lag` requests after it was recorded. A wait for it,
// or for the device, completes all that was recorded before. Invariant: the addresses reserved stay within
// SetAddresses. Thread rule: one thread. Cost: a look-up per event.
class LateDriver final : public Driver {
 public:
  LateDriver(Bytes device_memory, int64_t lag) : model_(device_memory), lag_(lag) {}

  // A request was made.
  void Tick() { ++now_; }
  // The device has only so many addresses for reservations, those that it has given out included.
  void SetAddresses(Bytes addresses) { addresses_ = addresses; }
  int64_t num_waits() const { return num_waits_; }

  Bytes granularity() const override { return model_.granularity(); }
  StatusOr<BlockHandle> Create(Bytes size) override { return model_.Create(size); }
  Status Release(BlockHandle block) override { return model_.Release(block); }
  StatusOr<Address> Reserve(Bytes size) override {
    if (reserved_ + size > addresses_) return Status(StatusCode::kOutOfMemory, "cuMemAddressReserve: out of memory");
    reserved_ += size;
    return model_.Reserve(size);
  }
  Status FreeAddress(Address address, Bytes size) override {
    reserved_ -= size;
    return model_.FreeAddress(address, size);
  }
  Status Map(Address address, Bytes size, BlockHandle block) override { return model_.Map(address, size, block); }
  Status SetAccess(Address address, Bytes size) override { return model_.SetAccess(address, size); }
  Status Unmap(Address address, Bytes size) override { return model_.Unmap(address, size); }
  StatusOr<EventHandle> RecordEvent(StreamHandle) override {
    const EventHandle event{reinterpret_cast<void*>(++num_events_)};
    events_[event.value] = now_;
    return event;
  }
  StatusOr<bool> IsComplete(EventHandle event) override {
    const int64_t recorded = events_.at(event.value);
    return recorded <= waited_for_ || now_ - recorded >= lag_;
  }
  Status WaitOnHost(EventHandle event) override { return WaitUntil(events_.at(event.value)); }
  Status WaitOnDevice() override { return WaitUntil(now_); }
  Status WaitOnStream(StreamHandle, EventHandle) override { return OkStatus(); }
  void DestroyEvent(EventHandle event) override { events_.erase(event.value); }
  StatusOr<bool> IsCapturing(StreamHandle) override { return false; }
  StatusOr<DeviceMemory> QueryMemory() override { return model_.QueryMemory(); }

 private:
  Status WaitUntil(int64_t moment) {
    ++num_waits_;
    waited_for_ = std::max(waited_for_, moment);
    return OkStatus();
  }

  ModelDriver model_;
  const int64_t lag_;
  int64_t now_ = 0;
  int64_t waited_for_ = -1;  // all that was recorded up to then is complete
  uint64_t num_events_ = 0;
  int64_t num_waits_ = 0;
  std::unordered_map<void*, int64_t> events_;  // when each was recorded
  Bytes addresses_{std::numeric_limits<int64_t>::max() / 2};
  Bytes reserved_;
};

}  // namespace gmlake::bench

#endif  // GMLAKE_BENCH_LATE_DRIVER_H_
