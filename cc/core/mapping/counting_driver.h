// Counts and times the calls of another driver, and tells the inventory what they changed.
//
// The core makes every driver call through one of these, so no call is missing in AllocatorStats or in a snapshot.
#ifndef GMLAKE_CORE_MAPPING_COUNTING_DRIVER_H_
#define GMLAKE_CORE_MAPPING_COUNTING_DRIVER_H_

#include <chrono>
#include <utility>

#include "cc/driver/driver.h"
#include "cc/telemetry/inventory_log.h"
#include "cc/telemetry/stats.h"

namespace gmlake {

// Thread rule: the allocator's lock (the counters are plain). Cost: two clock readings per run of calls, and per call
// outside a run that can be slow; the stream queries are passed on unmeasured.
class CountingDriver final : public Driver {
 public:
  CountingDriver(Driver* driver, InventoryLog* inventory) : driver_(driver), inventory_(inventory) {}

  const DriverCallStats& calls() const { return calls_; }

  Bytes granularity() const override { return driver_->granularity(); }
  void BeginRun() override {
    in_run_ = true;
    start_ = Clock::now();
  }
  void EndRun() override {
    AddTimeSince(start_);
    in_run_ = false;
  }
  StatusOr<BlockHandle> Create(Bytes size) override {
    StatusOr<BlockHandle> block = Timed(&calls_.create, [&] { return driver_->Create(size); });
    if (block.ok()) inventory_->OnCreate(block->value, size);
    return block;
  }
  Status Release(BlockHandle block) override {
    Status released = Timed(&calls_.release, [&] { return driver_->Release(block); });
    if (released.ok()) inventory_->OnRelease(block.value);
    return released;
  }
  StatusOr<Address> Reserve(Bytes size) override {
    StatusOr<Address> address = Timed(&calls_.reserve, [&] { return driver_->Reserve(size); });
    if (address.ok()) inventory_->OnReserve(*address, size);
    return address;
  }
  Status FreeAddress(Address address, Bytes size) override {
    Status freed = Timed(&calls_.free_address, [&] { return driver_->FreeAddress(address, size); });
    if (freed.ok()) inventory_->OnFreeAddress(address, size);
    return freed;
  }
  // The same for addresses that are cut into spans: the inventory hears of those instead (address_space.h).
  StatusOr<Address> ReserveArena(Bytes size) {
    return Timed(&calls_.reserve, [&] { return driver_->Reserve(size); });
  }
  Status FreeArena(Address address, Bytes size) {
    return Timed(&calls_.free_address, [&] { return driver_->FreeAddress(address, size); });
  }
  Status Map(Address address, Bytes size, BlockHandle block) override {
    Status mapped = Timed(&calls_.map, [&] { return driver_->Map(address, size, block); });
    if (mapped.ok()) inventory_->OnMap(address, size, block.value);
    return mapped;
  }
  Status SetAccess(Address address, Bytes size) override {
    return Timed(&calls_.set_access, [&] { return driver_->SetAccess(address, size); });
  }
  Status Unmap(Address address, Bytes size) override {
    Status unmapped = Timed(&calls_.unmap, [&] { return driver_->Unmap(address, size); });
    if (unmapped.ok()) inventory_->OnUnmap(address, size);
    return unmapped;
  }
  StatusOr<EventHandle> RecordEvent(StreamHandle stream) override {
    return Timed(&calls_.record_event, [&] { return driver_->RecordEvent(stream); });
  }
  StatusOr<bool> IsComplete(EventHandle event) override { return driver_->IsComplete(event); }
  Status WaitOnHost(EventHandle event) override { return driver_->WaitOnHost(event); }
  Status WaitOnDevice() override { return driver_->WaitOnDevice(); }
  Status WaitOnStream(StreamHandle stream, EventHandle event) override { return driver_->WaitOnStream(stream, event); }
  void DestroyEvent(EventHandle event) override { driver_->DestroyEvent(event); }
  StatusOr<bool> IsCapturing(StreamHandle stream) override { return driver_->IsCapturing(stream); }
  StatusOr<DeviceMemory> QueryMemory() override { return driver_->QueryMemory(); }

 private:
  using Clock = std::chrono::steady_clock;

  template <typename Call>
  auto Timed(int64_t* count, Call call) -> decltype(call()) {
    ++*count;
    if (in_run_) return call();
    const Clock::time_point start = Clock::now();
    auto result = call();
    AddTimeSince(start);
    return result;
  }
  void AddTimeSince(Clock::time_point start) {
    const std::chrono::duration<double, std::micro> spent = Clock::now() - start;
    calls_.time_us += spent.count();
  }

  Driver* driver_;
  InventoryLog* inventory_;
  DriverCallStats calls_;
  bool in_run_ = false;
  Clock::time_point start_;  // of the run
};

}  // namespace gmlake

#endif  // GMLAKE_CORE_MAPPING_COUNTING_DRIVER_H_
