// A replay's result as one line of JSON, with the field names that scripts rely on.
#ifndef GMLAKE_BENCH_REPLAY_JSON_H_
#define GMLAKE_BENCH_REPLAY_JSON_H_

#include <string>

#include "cc/bench/replay.h"

namespace gmlake::bench {

std::string ToJson(const ReplayResult& result);

}  // namespace gmlake::bench

#endif  // GMLAKE_BENCH_REPLAY_JSON_H_
