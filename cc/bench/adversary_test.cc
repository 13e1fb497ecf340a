#include "cc/bench/adversary.h"

#include <gtest/gtest.h>

#include "cc/bench/replay.h"

namespace gmlake::bench {
namespace {

constexpr Bytes kLimit = GiB(48);

class AdversaryTest : public ::testing::TestWithParam<std::string> {
 protected:
  static Trace MakeJob(int seed) { return *MakeTrace(GetParam(), MakeAdversary(GetParam(), kLimit, seed)); }

  static int64_t CountFailures(const std::string& policy, int seed) {
    ReplayOptions options;
    options.policy = policy;
    options.limit = kLimit;
    options.repeats = 0;
    return Replay(MakeJob(seed), options)->failures;
  }
};

TEST_P(AdversaryTest, FillsTheDeviceTo98Percent) {
  EXPECT_NEAR(MakeJob(1).peak_live.count(), 0.98 * kLimit.count(), 0.01 * kLimit.count());
  EXPECT_LE(MakeJob(1).peak_live.count(), 0.98 * kLimit.count());
}

TEST_P(AdversaryTest, BreaksAnAllocatorThatCannotStitch) { EXPECT_GT(CountFailures("bfc", 1), 0); }

// So no job asks for what cannot be: blocks of 2 MiB everywhere serve all of them, at whatever price.
TEST_P(AdversaryTest, IsServedByTheFinestBlocks) { EXPECT_EQ(CountFailures("gmlake-uniform-2mib", 1), 0); }

INSTANTIATE_TEST_SUITE_P(Kinds, AdversaryTest, ::testing::ValuesIn(AdversaryNames()),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace gmlake::bench
