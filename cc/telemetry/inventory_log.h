// What the driver did since the inventory was last read.
//
// Entering a driver call into the inventory's maps costs as much as the rest of a request that grows. So the call is
// put aside in a row, and entered when somebody reads the inventory, when the device is maintained, or when the row is
// full.
#ifndef GMLAKE_TELEMETRY_INVENTORY_LOG_H_
#define GMLAKE_TELEMETRY_INVENTORY_LOG_H_

#include <cstdint>
#include <vector>

#include "cc/base/bytes.h"
#include "cc/telemetry/inventory.h"
#include "cc/telemetry/recorder.h"

namespace gmlake {

// Model: an inventory, and the calls in their order that it has not heard of. Invariant: none are put aside while the
// recorder is on, which must hear of them as they happen; so StartRecording, and nothing else, turns it on.
// Thread rule: the allocator's lock. Cost: a few nanoseconds per call put aside.
class InventoryLog {
 public:
  explicit InventoryLog(Recorder* recorder) : recorder_(recorder), inventory_(recorder) { calls_.reserve(kMostCalls); }

  void OnCreate(uint64_t handle, Bytes size) { Note({Kind::kCreate, Address(), size, handle}); }
  void OnRelease(uint64_t handle) { Note({Kind::kRelease, Address(), Bytes(0), handle}); }
  void OnReserve(Address address, Bytes size) { Note({Kind::kReserve, address, size, 0}); }
  void OnFreeAddress(Address address, Bytes size) { Note({Kind::kFreeAddress, address, size, 0}); }
  void OnMap(Address address, Bytes size, uint64_t handle) { Note({Kind::kMap, address, size, handle}); }
  void OnUnmap(Address address, Bytes size) { Note({Kind::kUnmap, address, size, 0}); }

  void StartRecording(int64_t max_events) {
    Settle();
    recorder_->Start(max_events);
  }
  // Enters what was put aside.
  void Settle() const;
  // With every call entered.
  const Inventory& Read() const {
    Settle();
    return inventory_;
  }

 private:
  static constexpr size_t kMostCalls = 1 << 12;  // are put aside

  enum class Kind : uint8_t { kCreate, kRelease, kReserve, kFreeAddress, kMap, kUnmap };
  struct Call {
    Kind kind;
    Address address;
    Bytes size;
    uint64_t handle;
  };

  void Note(const Call& call) {
    calls_.push_back(call);
    if (recorder_->is_on() || calls_.size() == kMostCalls) Settle();
  }
  void Enter(const Call& call) const;

  Recorder* recorder_;
  mutable Inventory inventory_;  // these two say the same before and after Settle
  mutable std::vector<Call> calls_;
};

}  // namespace gmlake

#endif  // GMLAKE_TELEMETRY_INVENTORY_LOG_H_
