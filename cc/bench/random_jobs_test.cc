// Random jobs on several streams under a tight limit: whatever is served is memory that no one else owns, and the
// driver is asked for nothing that a device would refuse.
#include <gtest/gtest.h>

#include "cc/bench/replay.h"
#include "cc/bench/script.h"

namespace gmlake::bench {
namespace {

constexpr Bytes kLimit = GiB(2);

struct Live {
  int64_t id;
  int64_t stream;
};

// Sizes from one byte to 512 MiB; a free comes from the request's stream, or from another one.
std::vector<RawEvent> MakeJob(uint64_t seed) {
  Dice dice(seed);
  const Bytes most = kLimit * dice.Between(80, 110) / 100;
  std::vector<RawEvent> events;
  std::vector<Live> live;
  std::vector<Bytes> sizes;
  Bytes used;
  for (int64_t id = 0; id < 1500; ++id) {
    const int64_t stream = dice.Below(3), time_us = id * 300;
    const Bytes size = dice.Below(3) == 0 ? MiB(2) * dice.Between(1, 40) : dice.Size(Bytes(1), MiB(512));
    while (!live.empty() && (used + size > most || dice.Below(8) == 0)) {
      const Live freed = dice.Draw(&live);
      const int64_t from = dice.Below(4) == 0 ? stream : freed.stream;
      events.push_back({1, freed.id, sizes[freed.id].count(), from, time_us});
      used -= sizes[freed.id];
    }
    events.push_back({0, id, size.count(), stream, time_us});
    sizes.push_back(size);
    live.push_back({id, stream});
    used += size;
  }
  return events;
}

class RandomJobsTest : public ::testing::TestWithParam<int> {};

TEST_P(RandomJobsTest, NeverHandsOutAByteTwice) {
  ReplayOptions options;
  options.limit = kLimit;
  options.passes = 2;
  options.repeats = 0;
  options.verify = true;
  const auto result = Replay(*MakeTrace("random", MakeJob(GetParam())), options);
  ASSERT_TRUE(result.ok()) << result.status().message();
  EXPECT_LE(result->peak_reserved, kLimit);
  EXPECT_LT(result->failures, 2 * 150) << "most of it fits";
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomJobsTest, ::testing::Range(1, 21));

}  // namespace
}  // namespace gmlake::bench
