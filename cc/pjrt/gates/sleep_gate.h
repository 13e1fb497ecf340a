// Keeps the host framework away from sleeping devices. It counts calls in progress and copies that are still to be
// made, and has a flag for each closed device.
#ifndef GMLAKE_PJRT_GATES_SLEEP_GATE_H_
#define GMLAKE_PJRT_GATES_SLEEP_GATE_H_

#include <atomic>
#include <chrono>
#include <cstdint>

#include "cc/base/status.h"

namespace gmlake {

// Model: a call that may use a device passes the gate on its way in and out, and counts the copies that it leaves to be
// queued before it is out. Invariant: when Close has succeeded, no call that could use the device is in progress, no
// copy is still to be made, and none begins before Open. Threads: any. Cost of a passage: two atomic additions and a
// load.
class SleepGate {
 public:
  // A call in progress. It must ask is_closed for its devices unless all_open.
  class Passage {
   public:
    explicit Passage(SleepGate* gate) : gate_(gate) { gate_->inside_.fetch_add(1); }
    ~Passage() { gate_->inside_.fetch_sub(1); }
    Passage(const Passage&) = delete;
    Passage& operator=(const Passage&) = delete;

    bool all_open() const { return gate_->closed_.load() == 0; }

   private:
    SleepGate* gate_;
  };

  // kFailedPrecondition, and open as before, if calls and copies of others do not end within `patience`.
  Status Close(int ordinal, std::chrono::milliseconds patience);
  void Open(int ordinal) { closed_.fetch_and(~Bit(ordinal)); }
  // A copy from or to the device's memory that is not over, or not even begun.
  void BeginTransfer(int ordinal) { AddTransfers(ordinal, 1); }
  void EndTransfer(int ordinal) { AddTransfers(ordinal, -1); }
  bool is_closed(int ordinal) const { return (closed_.load() & Bit(ordinal)) != 0; }

 private:
  static constexpr int kDevices = 64;

  static bool IsKnown(int ordinal) { return ordinal >= 0 && ordinal < kDevices; }
  static uint64_t Bit(int ordinal) { return IsKnown(ordinal) ? uint64_t{1} << ordinal : 0; }
  void AddTransfers(int ordinal, int64_t more) {
    if (IsKnown(ordinal)) transfers_[ordinal].fetch_add(more);
  }
  Status InTheWay(int ordinal) const;

  std::atomic<int64_t> inside_{0};
  std::atomic<int64_t> transfers_[kDevices] = {};
  std::atomic<uint64_t> closed_{0};
};

}  // namespace gmlake

#endif  // GMLAKE_PJRT_GATES_SLEEP_GATE_H_
