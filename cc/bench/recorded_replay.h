// A replay that keeps what happened, event by event, so that the policies can be looked at side by side.
//
// Where replay.h measures, this remembers: each lease, and each change of memory that the driver was asked for. Nothing
// is timed; an event has the time at which the trace's request was made.
#ifndef GMLAKE_BENCH_RECORDED_REPLAY_H_
#define GMLAKE_BENCH_RECORDED_REPLAY_H_

#include <optional>
#include <string>

#include "cc/base/bytes.h"
#include "cc/base/status.h"
#include "cc/bench/trace.h"
#include "cc/telemetry/history.h"

namespace gmlake::bench {

// One pass of `policy` over `trace`. A request that is refused is an event of its own, and its free is left out.
// Policies do not tell how a request was placed: a lease's size is the size that was asked for, its way is none.
StatusOr<Recording> RecordReplay(const Trace& trace, const std::string& policy, std::optional<Bytes> limit);

}  // namespace gmlake::bench

#endif  // GMLAKE_BENCH_RECORDED_REPLAY_H_
