// One policy going through one trace, pass after pass: the loop that replay measures, searches and verifies with.
#ifndef GMLAKE_BENCH_SESSION_H_
#define GMLAKE_BENCH_SESSION_H_

#include <chrono>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "cc/base/bytes.h"
#include "cc/base/status.h"
#include "cc/bench/ownership.h"
#include "cc/bench/policy.h"
#include "cc/bench/trace.h"
#include "cc/driver/model_driver.h"

namespace gmlake::bench {

// Model: the events of a pass, cut into segments wherever 100 ms of the trace's own time have gone by; between two
// segments the policy does its maintenance, as a background thread would. Only segments are timed, less what the model
// of the driver costs in them. Thread rule: one thread.
class Session {
 public:
  // `driver` is the one under `policy`; `ownership` may be null. All are borrowed.
  Session(const Trace& trace, Policy* policy, const ModelDriver* driver, Ownership* ownership);

  // Called between segments with the number of events done since the last call.
  void set_observer(std::function<void(size_t)> observer) { observer_ = std::move(observer); }

  // One pass. With `stop_at_failure`, returns at the first request that was not served. A status other than ok is a
  // broken invariant, found by `ownership`.
  Status RunPass(bool stop_at_failure);
  // Frees everything that is live, oldest slot first.
  Status FreeAll();

  int64_t failures() const { return failures_; }
  // Time inside the policy, of each segment run so far.
  const std::vector<std::chrono::nanoseconds>& segment_times() const { return times_; }

 private:
  void RunSegment(size_t begin, size_t end, bool stop_at_failure);
  Status RunCheckedSegment(size_t begin, size_t end);
  Status CheckedAllocate(const Event& event);
  Status CheckedFree(const Event& event);
  void Allocate(const Event& event);
  void Free(const Event& event);

  const Trace& trace_;
  Policy* const policy_;
  const ModelDriver* const driver_;
  Ownership* const ownership_;
  std::function<void(size_t)> observer_;
  std::vector<size_t> segment_ends_;
  std::vector<Address> leases_;   // by slot; null where nothing lives
  std::vector<Bytes> sizes_;      // by slot
  std::vector<int32_t> streams_;  // by slot
  int64_t failures_ = 0;
  std::vector<std::chrono::nanoseconds> times_;
};

}  // namespace gmlake::bench

#endif  // GMLAKE_BENCH_SESSION_H_
