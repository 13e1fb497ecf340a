// The clocks of history.h.
#include <time.h>

#include "cc/telemetry/history.h"

namespace gmlake {
namespace {

int64_t Read(clockid_t clock) {
  timespec now = {};
  clock_gettime(clock, &now);
  return int64_t{1000000000} * now.tv_sec + now.tv_nsec;
}

}  // namespace

int64_t MonotonicNs() { return Read(CLOCK_MONOTONIC); }
int64_t CoarseMonotonicNs() { return Read(CLOCK_MONOTONIC_COARSE); }
int64_t UnixNsOfMonotonicZero() { return Read(CLOCK_REALTIME) - Read(CLOCK_MONOTONIC); }

}  // namespace gmlake
