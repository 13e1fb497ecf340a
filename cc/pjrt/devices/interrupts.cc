#include "cc/pjrt/devices/interrupts.h"

#include <signal.h>

#include <atomic>
#include <cstdint>
#include <memory>

#include "cc/base/mutex.h"

namespace gmlake {
namespace {

using Action = struct sigaction;
using Handler = void (*)(int);

std::atomic<int64_t> num_interrupts{0};
std::atomic<Handler> hosts_handler{nullptr};  // set once, before ours is in place

void CountAndPassOn(int signal) {
  num_interrupts.fetch_add(1);
  hosts_handler.load()(signal);
}

Action CurrentAction() {
  Action current = {};
  sigaction(SIGINT, nullptr, &current);
  return current;
}

// None where there is no function to be called with the signal's number alone.
Handler HandlerOf(const Action& action) {
  if ((action.sa_flags & SA_SIGINFO) != 0) return nullptr;
  return action.sa_handler == SIG_DFL || action.sa_handler == SIG_IGN ? nullptr : action.sa_handler;
}

bool MayStandInFor(Handler handler) {
  if (handler == nullptr || handler == &CountAndPassOn) return false;
  Handler known = nullptr;
  return hosts_handler.compare_exchange_strong(known, handler) || known == handler;
}

// Model: how many watch, and the action that they displace. Threads: any, one at a time.
class StandIn {
 public:
  void Begin() {
    const MutexLock lock(&mutex_);
    ++watches_;
    const Action current = CurrentAction();
    if (!MayStandInFor(HandlerOf(current))) return;
    displaced_ = current;
    Action ours = current;
    ours.sa_handler = &CountAndPassOn;
    sigaction(SIGINT, &ours, nullptr);
  }

  void End() {
    const MutexLock lock(&mutex_);
    const bool last = --watches_ == 0;
    if (last && HandlerOf(CurrentAction()) == &CountAndPassOn) sigaction(SIGINT, &displaced_, nullptr);
  }

 private:
  Mutex mutex_;
  int watches_ GMLAKE_GUARDED_BY(mutex_) = 0;
  Action displaced_ GMLAKE_GUARDED_BY(mutex_) = {};  // the last one
};

// Never destroyed: a thread may still wait while the process ends.
StandIn* TheStandIn() {
  static auto* const stand_in = new StandIn();
  return stand_in;
}

}  // namespace

std::function<bool()> WatchInterrupts() {
  TheStandIn()->Begin();
  const std::shared_ptr<StandIn> watch(TheStandIn(), [](StandIn* stand_in) { stand_in->End(); });
  return [watch, before = num_interrupts.load()] { return num_interrupts.load() != before; };
}

}  // namespace gmlake
