// The churn that shows where allocators break: requests of log-uniform size, random frees, and the device kept full.
#ifndef GMLAKE_BENCH_CHURN_H_
#define GMLAKE_BENCH_CHURN_H_

#include <cstdint>
#include <vector>

#include "cc/base/bytes.h"
#include "cc/bench/trace.h"

namespace gmlake::bench {

struct ChurnOptions {
  double utilisation = 0.95;  // live bytes stay below this share of the limit
  Bytes limit = GiB(48);
  int requests = 600;
  uint64_t seed = 7;
};

// Sizes from 2 MiB to 4 GiB, log-uniform, whole multiples of 2 MiB; before each request, random live ones are freed
// until it fits under the share. One request every 200 microseconds: about what a kernel that fills it once takes.
std::vector<RawEvent> MakeChurn(const ChurnOptions& options);

}  // namespace gmlake::bench

#endif  // GMLAKE_BENCH_CHURN_H_
