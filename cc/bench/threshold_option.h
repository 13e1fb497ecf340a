// Thresholds of the policy by name, for trying others than the usual ones in a replay.
#ifndef GMLAKE_BENCH_THRESHOLD_OPTION_H_
#define GMLAKE_BENCH_THRESHOLD_OPTION_H_

#include <string>

#include "cc/core/tables/thresholds.h"

namespace gmlake::bench {

// `assignment` is NAME:VALUE, a field of Thresholds and a whole number (of bytes, for sizes). False if it is anything
// else.
bool SetThreshold(const std::string& assignment, Thresholds* thresholds);

}  // namespace gmlake::bench

#endif  // GMLAKE_BENCH_THRESHOLD_OPTION_H_
