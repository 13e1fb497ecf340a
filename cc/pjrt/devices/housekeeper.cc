#include "cc/pjrt/devices/housekeeper.h"

#include <signal.h>

#include <utility>

#include "cc/base/mutex.h"
#include "cc/pjrt/patch/exception_barrier.h"

namespace gmlake {
namespace {

// The host's signals are for the host's threads: a thread inherits the mask under which it is made.
class BlockedSignals {
 public:
  BlockedSignals() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &former_);
  }
  ~BlockedSignals() { pthread_sigmask(SIG_SETMASK, &former_, nullptr); }

 private:
  sigset_t former_;
};

}  // namespace

Housekeeper::Housekeeper(std::function<void()> work, std::chrono::milliseconds period)
    : work_(std::move(work)), period_(period) {
  const BlockedSignals blocked;
  thread_ = std::thread([this] { Run(); });
}

void Housekeeper::Stop() {
  {
    const MutexLock lock(&mutex_);
    stopped_ = true;
  }
  wake_.notify_all();
  if (thread_.joinable()) thread_.join();
}

// What the host had no memory for is tried again at the next call.
void Housekeeper::Run() {
  while (PauseUnlessStopped()) Attempt(work_);
}

bool Housekeeper::PauseUnlessStopped() {
  const MutexLock lock(&mutex_);
  const auto end = std::chrono::steady_clock::now() + period_;
  while (!stopped_ && wake_.wait_until(mutex_, end) == std::cv_status::no_timeout) continue;
  return !stopped_;
}

}  // namespace gmlake
