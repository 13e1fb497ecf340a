// The promise that fragmentation refuses no request: whatever the history, what fits into 98 % of the limit is served,
// from memory that no one else owns.
#include <gtest/gtest.h>

#include <tuple>

#include "cc/bench/adversary.h"
#include "cc/bench/replay.h"

namespace gmlake::bench {
namespace {

class FragmentationTest : public ::testing::TestWithParam<std::tuple<std::string, int64_t, int>> {};

TEST_P(FragmentationTest, RefusesNothingBelow98Percent) {
  const auto& [name, limit_mib, seed] = GetParam();
  ReplayOptions options;
  options.limit = MiB(limit_mib);
  options.repeats = 0;
  options.verify = true;
  const auto result = Replay(*MakeTrace(name, MakeAdversary(name, MiB(limit_mib), seed)), options);
  ASSERT_TRUE(result.ok()) << result.status().message();
  EXPECT_EQ(result->failures, 0);
}

std::string NameOf(const ::testing::TestParamInfo<FragmentationTest::ParamType>& info) {
  const auto& [name, limit_mib, seed] = info.param;
  return name + "_" + std::to_string(limit_mib) + "MiB_" + std::to_string(seed);
}

INSTANTIATE_TEST_SUITE_P(Seeds, FragmentationTest,
                         ::testing::Combine(::testing::ValuesIn(AdversaryNames()), ::testing::Values(22528, 49152),
                                            ::testing::Range(1, 6)),
                         NameOf);

}  // namespace
}  // namespace gmlake::bench
