#include "cc/pjrt/patch/fork_guard.h"

#include <pthread.h>

#include <atomic>

namespace gmlake {
namespace {

std::atomic<bool> in_child{false};

void MarkChild() { in_child.store(true, std::memory_order_relaxed); }

}  // namespace

void WatchForks() {
  static const int registered = pthread_atfork(nullptr, nullptr, &MarkChild);
  (void)registered;
}

bool InForkedChild() { return in_child.load(std::memory_order_relaxed); }

}  // namespace gmlake
