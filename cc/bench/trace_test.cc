#include "cc/bench/trace.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace gmlake::bench {
namespace {

using ::testing::HasSubstr;

std::string ErrorOf(const std::vector<RawEvent>& events) { return MakeTrace("t", events).status().message(); }

TEST(TraceTest, CountsWhatLivesAtOnce) {
  const auto trace = MakeTrace("t", {{0, 7, 100, 0, 5}, {0, 8, 50, 1, 6}, {1, 7, 100, 0, 9}, {0, 9, 60, 0, 25}});
  ASSERT_TRUE(trace.ok());
  EXPECT_EQ(trace->peak_live, Bytes(150));
  EXPECT_EQ(trace->largest, Bytes(100));
  EXPECT_EQ(trace->duration_us, 20);
  EXPECT_EQ(trace->num_slots, 3);
}

TEST(TraceTest, LetsAnIdBeUsedAgainAfterItsFree) {
  const auto trace = MakeTrace("t", {{0, 7, 100, 0, 0}, {1, 7, 0, 0, 0}, {0, 7, 30, 0, 0}, {1, 7, 0, 0, 0}});
  ASSERT_TRUE(trace.ok());
  EXPECT_EQ(trace->num_slots, 1);
  EXPECT_EQ(trace->events[3].size, Bytes(30)) << "a free is of the size that was allocated";
}

TEST(TraceTest, LeavesOutRequestsForNothingAndInVain) {
  const auto trace = MakeTrace("t", {{0, 1, 0, 0, 0}, {2, 0, 99, 0, 0}, {0, 2, 8, 0, 0}, {1, 1, 0, 0, 0}});
  ASSERT_TRUE(trace.ok());
  EXPECT_EQ(trace->events.size(), 1u);
}

TEST(TraceTest, NamesTheEventThatMakesNoSense) {
  const RawEvent good{0, 1, 100, 0, 0};
  EXPECT_THAT(ErrorOf({good, {1, 2, 100, 0, 0}}), HasSubstr("event 1: frees id 2, which was never allocated"));
  EXPECT_THAT(ErrorOf({good, {1, 1, 100, 0, 0}, {1, 1, 100, 0, 0}}), HasSubstr("event 2: frees id 1 again"));
  EXPECT_THAT(ErrorOf({good, {0, 1, 100, 0, 0}}), HasSubstr("event 1: allocates id 1, which is still live"));
  EXPECT_THAT(ErrorOf({good, {0, 2, -5, 0, 0}}), HasSubstr("event 1: negative size -5"));
  EXPECT_THAT(ErrorOf({good, {0, 2, 5, -1, 0}}), HasSubstr("event 1: negative stream"));
  EXPECT_THAT(ErrorOf({{3, 2, 5, 0, 0}}), HasSubstr("event 0: there is no operation 3"));
  EXPECT_THAT(ErrorOf({}), HasSubstr("no events"));
}

}  // namespace
}  // namespace gmlake::bench
