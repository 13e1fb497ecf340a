// AllocatorStats as a Python dict, field by field under the names of cc/telemetry/stats.h. Sizes
// become int (bytes).
#ifndef GMLAKE_PYTHON_STATS_DICT_H_
#define GMLAKE_PYTHON_STATS_DICT_H_

#include <nanobind/nanobind.h>

#include "cc/telemetry/stats.h"

namespace gmlake {

nanobind::dict ToDict(const AllocatorStats& stats);

}  // namespace gmlake

#endif  // GMLAKE_PYTHON_STATS_DICT_H_
