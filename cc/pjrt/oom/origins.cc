#include "cc/pjrt/oom/origins.h"

#include <utility>

#include "cc/base/mutex.h"

namespace gmlake {

void Origins::Note(const PJRT_Error* error, Origin origin) {
  const MutexLock lock(&mutex_);
  errors_[error] = std::move(origin);
  Count();
}

void Origins::Note(const PJRT_Event* event, int device) {
  const MutexLock lock(&mutex_);
  events_[event] = device;
  Count();
}

std::optional<Origin> Origins::Of(const PJRT_Error* error) const {
  if (IsEmpty()) return std::nullopt;
  const MutexLock lock(&mutex_);
  const auto found = errors_.find(error);
  return found == errors_.end() ? std::nullopt : std::optional<Origin>(found->second);
}

std::optional<int> Origins::DeviceOf(const PJRT_Event* event) const {
  if (IsEmpty()) return std::nullopt;
  const MutexLock lock(&mutex_);
  const auto found = events_.find(event);
  return found == events_.end() ? std::nullopt : std::optional<int>(found->second);
}

void Origins::Forget(const PJRT_Error* error) {
  if (IsEmpty()) return;
  const MutexLock lock(&mutex_);
  errors_.erase(error);
  Count();
}

void Origins::Forget(const PJRT_Event* event) {
  if (IsEmpty()) return;
  const MutexLock lock(&mutex_);
  events_.erase(event);
  Count();
}

}  // namespace gmlake
