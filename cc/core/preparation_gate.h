// Lets one preparation at a time through, and lets others wait for its end.
//
// Those who wait: who wants blocks released that it may be mapping, who puts the device to sleep, who asks for just
// what is being prepared, and who would be refused otherwise.
#ifndef GMLAKE_CORE_PREPARATION_GATE_H_
#define GMLAKE_CORE_PREPARATION_GATE_H_

#include <chrono>
#include <condition_variable>

#include "cc/base/bytes.h"

namespace gmlake {

// Model: is a preparation under way, for which size, and how many threads hold new ones off. Thread rule: the
// allocator's lock, which Await lets go of. Cost: nothing while no preparation is under way.
class PreparationGate {
 public:
  // `patience`: how long anybody waits. A driver call that takes longer than that leaves them without what it holds.
  explicit PreparationGate(std::chrono::milliseconds patience) : patience_(patience) {}

  bool may_begin() const { return !under_way_ && held_off_ == 0; }
  bool under_way() const { return under_way_; }
  bool IsFor(Bytes request) const { return under_way_ && request_ == request; }

  void Begin(Bytes request) {
    under_way_ = true;
    request_ = request;
  }
  void End() {
    under_way_ = false;
    ended_.notify_all();
  }
  // False: it is still under way.
  template <typename Lock>
  bool Await(Lock* lock) {
    return ended_.wait_for(*lock, patience_, [this] { return !under_way_; });
  }

  // While it lives no preparation begins. Made and destroyed under the lock.
  class HoldOff {
   public:
    explicit HoldOff(PreparationGate* gate) : gate_(gate) { ++gate_->held_off_; }
    ~HoldOff() { --gate_->held_off_; }
    HoldOff(const HoldOff&) = delete;
    HoldOff& operator=(const HoldOff&) = delete;

   private:
    PreparationGate* gate_;
  };

 private:
  const std::chrono::milliseconds patience_;
  std::condition_variable_any ended_;  // whatever kind of lock the allocator has
  bool under_way_ = false;
  int held_off_ = 0;
  Bytes request_;
};

}  // namespace gmlake

#endif  // GMLAKE_CORE_PREPARATION_GATE_H_
