// Replays a trace through a policy over the modelled driver and says what it took.
//
// What is measured: memory by the driver's own count (so a policy cannot understate it), driver calls and time by the
// table of prices, and the policy's own speed by the clock. What is not: waiting for streams, which complete at once,
// and everything that a real process does besides.
#ifndef GMLAKE_BENCH_REPLAY_H_
#define GMLAKE_BENCH_REPLAY_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cc/base/bytes.h"
#include "cc/base/status.h"
#include "cc/bench/policy.h"
#include "cc/bench/trace.h"
#include "cc/telemetry/stats.h"

namespace gmlake::bench {

using PolicyFactory = std::function<std::unique_ptr<Policy>(Driver* driver, std::optional<Bytes> limit)>;

struct ReplayOptions {
  std::string policy = "gmlake";
  PolicyFactory make_policy;   // for a policy that policies.h does not know; `policy` is then only its name
  std::optional<Bytes> limit;  // rounded down to the driver's granularity
  bool find_min_limit = false;
  int passes = 1;                        // everything live is freed between passes
  int repeats = 11;                      // fresh replays behind ns_per_op; 0 leaves it unmeasured
  bool verify = false;                   // check on every event that no physical byte has two owners
  std::function<void(double)> progress;  // called now and then with the share done, 0 to 1; may throw
};

struct ReplayResult {
  std::string trace;
  std::string policy;
  int64_t events = 0;       // per pass
  int64_t duration_us = 0;  // of the recorded job, one pass
  Bytes peak_live;
  Bytes peak_reserved;
  std::optional<Bytes> limit;
  std::optional<Bytes> min_limit;  // the smallest that serves every request of every pass, to 0.05 %
  int64_t failures = 0;            // requests refused, all passes
  // Nanoseconds per event inside the policy: over the repeats, each from an empty device, the fastest of every 100 ms
  // of the trace (fastest.h), less the same loop around a policy that does nothing. Neither the model of the driver nor
  // Maintain is in it.
  std::optional<double> ns_per_op;
  std::vector<DriverCallStats> passes;  // driver calls of each pass, its frees at the end included
  DriverCallStats total;
};

// Fails where the policy is unknown or did what no device allows; an unserved request is no failure of the replay.
StatusOr<ReplayResult> Replay(const Trace& trace, const ReplayOptions& options);

}  // namespace gmlake::bench

#endif  // GMLAKE_BENCH_REPLAY_H_
