// The driver as the core sees it: one device's physical blocks, addresses, mappings and stream order.
//
// This interface is everything that the allocator asks of a GPU. Behind it stand CUDA's virtual memory management
// (cuda_driver.h), a cost model for replaying traces without a device (model_driver.h) and a scripted fake for tests
// (fake_driver.h). No other layer includes cuda.h.
//
// Rules of CUDA's virtual memory that every caller keeps (the fake enforces them):
//   - sizes and addresses are multiples of granularity();
//   - a physical block is mapped whole: there is no mapping of a part of it;
//   - an unmapped address range is reached only after SetAccess over whole mappings;
//   - Unmap takes whole mappings, and neither it nor Release waits for the device: the caller proves that no queued
//     work can touch them;
//   - a physical block's memory goes back to the device when it is released *and* its last mapping is gone.
#ifndef GMLAKE_DRIVER_DRIVER_H_
#define GMLAKE_DRIVER_DRIVER_H_

#include <cstdint>

#include "cc/base/bytes.h"
#include "cc/base/status.h"

namespace gmlake {

// The driver's name for a physical block (CUmemGenericAllocationHandle).
struct BlockHandle {
  uint64_t value = 0;
};

// A stream of the host framework (CUstream). Null is the default stream.
struct StreamHandle {
  void* value = nullptr;
  friend bool operator==(StreamHandle a, StreamHandle b) { return a.value == b.value; }
  friend bool operator!=(StreamHandle a, StreamHandle b) { return a.value != b.value; }
};

// A recorded point in a stream's work (CUevent). Null means never recorded.
struct EventHandle {
  void* value = nullptr;
};

// What the device says of its memory, all processes together.
struct DeviceMemory {
  Bytes free;
  Bytes total;
};

// One device. Thread rule: every method may be called from any thread; the driver itself serialises mapping calls.
// Cost: tens of microseconds for a call that creates, maps or gives access; see cost_table.cc for the table.
class Driver {
 public:
  virtual ~Driver() = default;

  // Physical blocks and mappings are multiples of this (2 MiB on every GPU measured).
  virtual Bytes granularity() const = 0;

  // Physical memory of `size` bytes; kOutOfMemory where the device has none left.
  virtual StatusOr<BlockHandle> Create(Bytes size) = 0;
  virtual Status Release(BlockHandle block) = 0;

  // Addresses only; costs no memory.
  virtual StatusOr<Address> Reserve(Bytes size) = 0;
  virtual Status FreeAddress(Address address, Bytes size) = 0;

  // Maps the whole of `block`, `size` bytes large, at `address`.
  virtual Status Map(Address address, Bytes size, BlockHandle block) = 0;
  // Opens [address, address + size) to this device and to every peer that can reach it, in one call.
  virtual Status SetAccess(Address address, Bytes size) = 0;
  virtual Status Unmap(Address address, Bytes size) = 0;

  // Stream order. An event that was never recorded does not exist here, so it cannot read as complete.
  virtual StatusOr<EventHandle> RecordEvent(StreamHandle stream) = 0;
  virtual StatusOr<bool> IsComplete(EventHandle event) = 0;
  virtual Status WaitOnHost(EventHandle event) = 0;
  // Waits for all work of the device that this process has queued, streams that were destroyed included. Fails during a
  // capture.
  virtual Status WaitOnDevice() {
    return Status(StatusCode::kNotSupported, "this driver cannot wait for the whole device");
  }
  virtual Status WaitOnStream(StreamHandle stream, EventHandle event) = 0;
  virtual void DestroyEvent(EventHandle event) = 0;
  // True while `stream` records a graph instead of running: then no event may be recorded on it.
  virtual StatusOr<bool> IsCapturing(StreamHandle stream) = 0;

  virtual StatusOr<DeviceMemory> QueryMemory() = 0;

  // The calls between these two follow each other with next to nothing in between: for one that measures them together.
  // Runs do not nest.
  virtual void BeginRun() {}
  virtual void EndRun() {}
};

}  // namespace gmlake

#endif  // GMLAKE_DRIVER_DRIVER_H_
