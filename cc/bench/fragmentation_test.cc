// The promise that fragmentation refuses no request: whatever the history, what fits into 98 % of the limit is served,
// from memory that no one else owns. And that leases do not cost a granule each.
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "cc/bench/adversary.h"
#include "cc/bench/replay.h"
#include "cc/bench/script.h"
#include "cc/core/allocator.h"
#include "cc/driver/model_driver.h"

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

// The same jobs with a user who resets the peaks, and asks for what no device has, after every third event.
class DisturbedTest : public ::testing::TestWithParam<std::string> {};

TEST_P(DisturbedTest, NothingThatAUserDoesInBetweenRefusesAnything) {
  const Bytes limit = MiB(22528);
  ModelDriver driver(limit + GiB(1));
  Allocator allocator(&driver, {limit});
  const StreamHandle stream{reinterpret_cast<void*>(1)};
  std::unordered_map<int64_t, Address> live;
  int64_t refused = 0, number = 0;
  for (const RawEvent& event : MakeAdversary(GetParam(), limit, /*seed=*/1)) {
    if (event.op == 0) {
      const StatusOr<Address> address = allocator.Allocate(Bytes(event.size), stream);
      if (address.ok()) live[event.id] = *address;
      refused += address.ok() ? 0 : 1;
    } else if (const auto found = live.find(event.id); found != live.end()) {
      allocator.Free(found->second, stream);
      live.erase(found);
    }
    if (++number % 3 != 0) continue;
    allocator.ResetPeaks();
    EXPECT_FALSE(allocator.Allocate(number % 2 == 0 ? limit * (2 + number % 999) : Bytes(INT64_MAX), stream).ok());
  }
  EXPECT_EQ(refused, 0);
  EXPECT_LE(allocator.Stats().bytes_addresses, RangeSize().budget);
}

INSTANTIATE_TEST_SUITE_P(Jobs, DisturbedTest, ::testing::ValuesIn(AdversaryNames()));

// Some 300 leases, each a little longer than whole granules, random ones freed when there is no room.
std::vector<RawEvent> LittleMoreThanGranules(Bytes most, uint64_t seed) {
  Dice dice(seed);
  Script script(/*period_us=*/200);
  std::vector<int64_t> live;
  for (int i = 0; i < 2000; ++i) {
    const Bytes size = MiB(2) * dice.Between(1, 39) + KiB(1) * dice.Between(1, 20);
    while (script.live() + size > most) script.Free(dice.Draw(&live));
    live.push_back(script.Allocate(size));
  }
  return script.Finish();
}

// With a granule of its own for each end, they would need 5 % more than is live.
TEST(Granules, AreSharedByTheLeasesThatEndInThem) {
  for (uint64_t seed = 1; seed <= 3; ++seed) {
    ReplayOptions options;
    options.limit = GiB(12);
    options.repeats = 0;
    options.verify = true;
    const Bytes most = *options.limit * 98 / 100;
    const auto result = Replay(*MakeTrace("granules", LittleMoreThanGranules(most, seed)), options);
    ASSERT_TRUE(result.ok()) << result.status().message();
    EXPECT_EQ(result->failures, 0);
  }
}

}  // namespace
}  // namespace gmlake::bench
