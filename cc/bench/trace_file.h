// Traces in .npz files: equal-length arrays op, id, size, stream, time_us (tests/traces/README.md).
//
// For the C++ programs and tests of this folder. The command `gmlake replay` reads its files in Python.
#ifndef GMLAKE_BENCH_TRACE_FILE_H_
#define GMLAKE_BENCH_TRACE_FILE_H_

#include <string>

#include "cc/base/status.h"
#include "cc/bench/trace.h"

namespace gmlake::bench {

// The trace is named after the file, without folder and extension.
StatusOr<Trace> ReadTrace(const std::string& path);

}  // namespace gmlake::bench

#endif  // GMLAKE_BENCH_TRACE_FILE_H_
