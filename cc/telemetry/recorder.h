// The last events of one device, in a ring that is made when a recording starts and given up when it ends.
//
// Off, which is the rule, a recorder costs its owner one branch. It knows neither files nor Python: cc/report and
// gmlake_jax/recording.py do.
#ifndef GMLAKE_TELEMETRY_RECORDER_H_
#define GMLAKE_TELEMETRY_RECORDER_H_

#include <cstdint>
#include <vector>

#include "cc/telemetry/history.h"

namespace gmlake {

// Model: a ring; the newest event overwrites the oldest. Invariant: events are in the order in which they happened.
// Thread rule: the allocator's lock. Cost: a clock reading and one row of 56 bytes for each event; nothing when off.
class Recorder {
 public:
  // At least one. All its memory is taken and touched here, so that no event has to wait for a page.
  void Start(int64_t max_events);
  void Stop();
  bool is_on() const { return !ring_.empty(); }

  // `now_ns`: MonotonicNs().
  void Add(Event event, int64_t now_ns) {
    event.time_ns = now_ns - start_ns_;
    ring_[next_] = event;
    next_ = next_ + 1 == ring_.size() ? 0 : next_ + 1;
    ++count_;
  }

  Recording Read() const;

 private:
  std::vector<Event> ring_;  // empty: off
  size_t next_ = 0;
  int64_t count_ = 0;  // since the start
  int64_t start_ns_ = 0;
};

}  // namespace gmlake

#endif  // GMLAKE_TELEMETRY_RECORDER_H_
