// A thread for work that no request should wait for: reclaim of idle ranges, completion of pending frees.
#ifndef GMLAKE_PJRT_DEVICES_HOUSEKEEPER_H_
#define GMLAKE_PJRT_DEVICES_HOUSEKEEPER_H_

#include <chrono>
#include <condition_variable>
#include <functional>
#include <thread>

#include "cc/base/mutex.h"

namespace gmlake {

// Model: calls `work` again and again, with a pause of `period` between the end of one call and the start of the next.
// Threads: any. Stop waits for a call in progress to end and is final. Cost: one wake-up a period.
class Housekeeper {
 public:
  Housekeeper(std::function<void()> work, std::chrono::milliseconds period);
  ~Housekeeper() { Stop(); }

  void Stop();

 private:
  void Run();
  bool PauseUnlessStopped();

  const std::function<void()> work_;
  const std::chrono::milliseconds period_;
  Mutex mutex_;
  std::condition_variable_any wake_;
  bool stopped_ GMLAKE_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace gmlake

#endif  // GMLAKE_PJRT_DEVICES_HOUSEKEEPER_H_
