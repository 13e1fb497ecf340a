// Keeps the host framework away from devices that sleep: a count of its calls in progress, and a mark per closed device.
#ifndef GMLAKE_PJRT_SLEEP_GATE_H_
#define GMLAKE_PJRT_SLEEP_GATE_H_

#include <atomic>
#include <chrono>
#include <cstdint>

namespace gmlake {

// Model: a call that may use a device passes the gate on its way in and out. Invariant: when Close has succeeded, no call
// that could use the device is in progress, and none begins before Open. Threads: any. Cost of a passage: two atomic
// additions and a load.
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

  // False, and open as before, if other calls do not end within `patience`.
  bool Close(int ordinal, std::chrono::milliseconds patience);
  void Open(int ordinal) { closed_.fetch_and(~Bit(ordinal)); }
  bool is_closed(int ordinal) const { return (closed_.load() & Bit(ordinal)) != 0; }

 private:
  static uint64_t Bit(int ordinal) { return ordinal < 0 || ordinal > 63 ? 0 : uint64_t{1} << ordinal; }

  std::atomic<int64_t> inside_{0};
  std::atomic<uint64_t> closed_{0};
};

}  // namespace gmlake

#endif  // GMLAKE_PJRT_SLEEP_GATE_H_
