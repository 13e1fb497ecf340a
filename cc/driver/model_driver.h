// A driver without a device: fake addresses, a virtual clock, and the prices of cost_table.h.
//
// Replay (cc/bench) runs allocators over it. It keeps the rules of CUDA's virtual memory strictly, refuses what CUDA
// would refuse, and counts every refusal as a misuse, so that a policy cannot look cheap by doing what no device
// allows. Streams complete their work at once: nothing here tells whether a policy waits long enough.
#ifndef GMLAKE_DRIVER_MODEL_DRIVER_H_
#define GMLAKE_DRIVER_MODEL_DRIVER_H_

#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "cc/base/bytes.h"
#include "cc/base/mutex.h"
#include "cc/base/status.h"
#include "cc/driver/cost_table.h"
#include "cc/driver/driver.h"
#include "cc/telemetry/stats.h"

namespace gmlake {

// Model: physical blocks, reservations and mappings in ordered maps; a block's memory returns to the device when it is
// released and its last mapping is gone. Invariant: memory in use never exceeds the device's. Thread rule: any thread,
// one lock. Cost: some hundred nanoseconds a call.
class ModelDriver final : public Driver {
 public:
  explicit ModelDriver(Bytes device_memory) : total_(device_memory) {}

  Bytes granularity() const override { return MiB(2); }
  StatusOr<BlockHandle> Create(Bytes size) override;
  Status Release(BlockHandle block) override;
  StatusOr<Address> Reserve(Bytes size) override;
  Status FreeAddress(Address address, Bytes size) override;
  Status Map(Address address, Bytes size, BlockHandle block) override;
  Status SetAccess(Address address, Bytes size) override;
  Status Unmap(Address address, Bytes size) override;

  StatusOr<EventHandle> RecordEvent(StreamHandle stream) override;
  StatusOr<bool> IsComplete(EventHandle event) override;
  Status WaitOnHost(EventHandle event) override;
  Status WaitOnDevice() override { return OkStatus(); }  // nothing is ever queued
  Status WaitOnStream(StreamHandle stream, EventHandle event) override;
  void DestroyEvent(EventHandle event) override;
  StatusOr<bool> IsCapturing(StreamHandle stream) override { return false; }
  StatusOr<DeviceMemory> QueryMemory() override;

  // What has been called so far; time_us is the virtual clock.
  DriverCallStats calls() const;
  Bytes memory_in_use() const;
  Bytes peak_memory_in_use() const;
  // Real time spent in calls of the driver's interface: what the model itself costs, for measurements to leave out.
  std::chrono::nanoseconds time_inside() const;
  // Calls that CUDA would have refused, other than for want of memory; and what the first of them was.
  int64_t num_misuses() const;
  std::string first_misuse() const;

  // A piece of physical memory, for those who check that no byte has two owners.
  struct Extent {
    uint64_t block;
    Bytes offset;
    Bytes size;
  };
  // The accessible memory behind [address, address + size); empty where any byte of it is not accessible.
  std::vector<Extent> Resolve(Address address, Bytes size) const;

 private:
  struct Block {
    Bytes size;
    int num_mappings = 0;
    bool released = false;
  };
  struct Mapping {
    Bytes size;
    uint64_t block;
    bool accessible = false;
  };
  using Mappings = std::map<Address, Mapping>;
  class Call;

  Status Misuse(const char* what);
  Status CheckEvent(EventHandle event);
  bool IsMultiple(Bytes size) const { return size.count() > 0 && size % MiB(2) == Bytes(0); }
  bool IsReserved(Address address, Bytes size) const;
  bool Overlaps(Address address, Bytes size) const;
  // True where whole mappings cover [address, address + size) without a gap.
  bool IsCovered(Address address, Bytes size) const;
  void ReturnIfUnused(std::unordered_map<uint64_t, Block>::iterator block);

  mutable Mutex mutex_;
  const Bytes total_;
  Bytes in_use_;
  Bytes peak_;
  uint64_t next_block_ = 1;
  uint64_t next_event_ = 1;
  Address next_address_{uint64_t{1} << 40};
  std::unordered_map<uint64_t, Block> blocks_;
  std::map<Address, Bytes> reservations_;
  Mappings mappings_;
  std::unordered_set<uint64_t> events_;
  DriverCallStats calls_;
  std::chrono::nanoseconds time_inside_{0};
  int64_t num_misuses_ = 0;
  std::string first_misuse_;
};

}  // namespace gmlake

#endif  // GMLAKE_DRIVER_MODEL_DRIVER_H_
