// Holds the model of BFC to the real one: the same smallest region, the same memory on demand, on recorded jobs.
#include "cc/bench/tsl_bfc.h"

#include <gtest/gtest.h>

#include <cmath>

#include "cc/bench/replay.h"
#include "cc/bench/trace_file.h"

namespace gmlake::bench {
namespace {

ReplayResult FindSmallest(const Trace& trace, PolicyFactory make_policy) {
  ReplayOptions options;
  options.policy = "bfc";
  options.make_policy = std::move(make_policy);
  options.find_min_limit = true;
  options.repeats = 0;
  const auto result = Replay(trace, options);
  EXPECT_TRUE(result.ok()) << result.status().message();
  return *result;
}

class TslBfcTest : public ::testing::TestWithParam<const char*> {};

TEST_P(TslBfcTest, AgreesWithTheModel) {
  const auto trace = ReadTrace(std::string("tests/traces/") + GetParam() + ".npz");
  ASSERT_TRUE(trace.ok()) << trace.status().message();
  const ReplayResult model = FindSmallest(*trace, nullptr), real = FindSmallest(*trace, MakeTslBfc);
  const double smallest = static_cast<double>(real.min_limit->count());
  EXPECT_LE(std::abs(model.min_limit->count() - smallest), 0.001 * smallest)
      << "model " << ToString(*model.min_limit) << ", real " << ToString(*real.min_limit);
  EXPECT_EQ(model.peak_reserved, real.peak_reserved);
}

// All fifteen agree; six are enough to notice a change, and a real region costs 8 bytes of host memory for every 256.
INSTANTIATE_TEST_SUITE_P(RecordedJobs, TslBfcTest,
                         ::testing::Values("glm-10b-LR", "jax-layer_stream", "jax-train_buckets", "opt-1.3b-LR",
                                           "opt-1.3b-LRO", "opt-1.3b-RO"));

}  // namespace
}  // namespace gmlake::bench
