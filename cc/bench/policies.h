// The policies that replay knows, by the names of the command line.
#ifndef GMLAKE_BENCH_POLICIES_H_
#define GMLAKE_BENCH_POLICIES_H_

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cc/bench/policy.h"

namespace gmlake::bench {

// gmlake, gmlake-uniform-2mib, bfc.
const std::vector<std::string>& PolicyNames();

// Without a limit the policy may take whatever `driver` gives; BFC then grows instead of preallocating. Null where
// there is no policy of that name.
std::unique_ptr<Policy> MakePolicy(const std::string& name, Driver* driver, std::optional<Bytes> limit);

}  // namespace gmlake::bench

#endif  // GMLAKE_BENCH_POLICIES_H_
