// A recorded sequence of requests, checked once so that replaying it needs no checks.
//
// Traces come from files (trace_file.h), from Python through the same MakeTrace, or from a generator (churn.h,
// adversary.h). Every id is mapped to a slot, 0 .. num_slots - 1; an id may be used again after its free, as recorded
// pointers are.
#ifndef GMLAKE_BENCH_TRACE_H_
#define GMLAKE_BENCH_TRACE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "cc/base/bytes.h"
#include "cc/base/status.h"

namespace gmlake::bench {

struct Event {
  bool is_free;
  int32_t stream;
  int32_t slot;
  Bytes size;
  int64_t time_us;
};

struct Trace {
  std::string name;
  std::vector<Event> events;
  int32_t num_slots = 0;
  Bytes peak_live;
  Bytes largest;
  int64_t duration_us = 0;
};

// One line of a recording, as files hold it: op 0 allocates, op 1 frees, op 2 asked for memory in vain.
struct RawEvent {
  int64_t op;
  int64_t id;
  int64_t size;
  int64_t stream;
  int64_t time_us;
};

// The checked trace, or one line that names the first event which makes no sense: an operation that is none of the
// three, a negative size or stream, an id allocated while it lives, a free of an id never allocated or already freed.
// A request for nothing (size 0) is left out with its free, as is one that got nothing. A free's own size is not used.
StatusOr<Trace> MakeTrace(std::string name, const std::vector<RawEvent>& raw);

}  // namespace gmlake::bench

#endif  // GMLAKE_BENCH_TRACE_H_
