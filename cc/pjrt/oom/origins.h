// The origins of the plugin's errors and events: the call that returned an error, the device that an event is about.
// They match an out-of-memory error to its refusal (oom_tracker.h).
#ifndef GMLAKE_PJRT_OOM_ORIGINS_H_
#define GMLAKE_PJRT_OOM_ORIGINS_H_

#include <atomic>
#include <optional>
#include <unordered_map>

#include "cc/base/mutex.h"
#include "cc/pjrt/oom/oom_tracker.h"
#include "xla/pjrt/c/pjrt_c_api.h"

namespace gmlake {

// Model: the errors and events that are alive and of which something is known. Threads: any. Cost: a load for an object
// of which nothing is known while nothing is known of any.
class Origins {
 public:
  void Note(const PJRT_Error* error, Origin origin);
  void Note(const PJRT_Event* event, int device);
  std::optional<Origin> Of(const PJRT_Error* error) const;
  std::optional<int> DeviceOf(const PJRT_Event* event) const;
  // It is about to be destroyed.
  void Forget(const PJRT_Error* error);
  void Forget(const PJRT_Event* event);

 private:
  bool IsEmpty() const { return count_.load(std::memory_order_acquire) == 0; }
  void Count() GMLAKE_REQUIRES(mutex_) { count_.store(errors_.size() + events_.size(), std::memory_order_release); }

  std::atomic<size_t> count_{0};
  mutable Mutex mutex_;
  std::unordered_map<const PJRT_Error*, Origin> errors_ GMLAKE_GUARDED_BY(mutex_);
  std::unordered_map<const PJRT_Event*, int> events_ GMLAKE_GUARDED_BY(mutex_);
};

}  // namespace gmlake

#endif  // GMLAKE_PJRT_OOM_ORIGINS_H_
