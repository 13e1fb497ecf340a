// The real tsl::BFCAllocator, which XLA uses by default, as a policy: what our model of it and our speed are held to.
//
// Links TensorFlow's wheel; for tests and benchmarks of this folder, never for the product.
#ifndef GMLAKE_BENCH_TSL_BFC_H_
#define GMLAKE_BENCH_TSL_BFC_H_

#include <memory>
#include <optional>

#include "cc/bench/policy.h"

namespace gmlake::bench {

// One preallocated region of `limit`; without a limit, regions on demand.
std::unique_ptr<Policy> MakeTslBfc(Driver* driver, std::optional<Bytes> limit);

}  // namespace gmlake::bench

#endif  // GMLAKE_BENCH_TSL_BFC_H_
