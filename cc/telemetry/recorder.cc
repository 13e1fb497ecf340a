#include "cc/telemetry/recorder.h"

#include <algorithm>

namespace gmlake {

void Recorder::Start(int64_t max_events) {
  ring_.assign(static_cast<size_t>(std::max<int64_t>(max_events, 1)), Event());
  next_ = 0;
  count_ = 0;
  start_ns_ = MonotonicNs();
}

void Recorder::Stop() {
  std::vector<Event>().swap(ring_);
  start_ns_ = 0;
}

Recording Recorder::Read() const {
  const size_t kept = std::min(static_cast<size_t>(count_), ring_.size());
  Recording recording{{}, count_ - static_cast<int64_t>(kept), start_ns_};
  recording.events.reserve(kept);
  for (size_t i = 0; i < kept; ++i) {
    recording.events.push_back(ring_[(next_ + ring_.size() - kept + i) % ring_.size()]);
  }
  return recording;
}

}  // namespace gmlake
