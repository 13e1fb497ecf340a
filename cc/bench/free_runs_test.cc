#include "cc/bench/free_runs.h"

#include <gtest/gtest.h>

namespace gmlake::bench {
namespace {

constexpr Address At(uint64_t value) { return Address(0x1000 + value); }

TEST(FreeRunsTest, JoinsNeighboursOnBothSides) {
  FreeRuns runs;
  runs.Add(At(0), Bytes(10));
  runs.Add(At(20), Bytes(10));
  EXPECT_EQ(runs.by_size().size(), 2u);
  runs.Add(At(10), Bytes(10));
  ASSERT_EQ(runs.by_size().size(), 1u);
  EXPECT_EQ(runs.BestFit(Bytes(30))->start, At(0));
  EXPECT_EQ(runs.total(), Bytes(30));
}

TEST(FreeRunsTest, TakesFromTheMiddle) {
  FreeRuns runs;
  runs.Add(At(0), Bytes(30));
  runs.Take(At(10), Bytes(5));
  EXPECT_TRUE(runs.Contains(At(0), Bytes(10)));
  EXPECT_FALSE(runs.Contains(At(9), Bytes(2)));
  EXPECT_TRUE(runs.Contains(At(15), Bytes(15)));
  EXPECT_EQ(runs.total(), Bytes(25));
}

TEST(FreeRunsTest, FitsBestAndLowest) {
  FreeRuns runs;
  runs.Add(At(0), Bytes(50));
  runs.Add(At(100), Bytes(20));
  runs.Add(At(200), Bytes(20));
  EXPECT_EQ(runs.BestFit(Bytes(15))->start, At(100));
  EXPECT_EQ(runs.BestFit(Bytes(21))->start, At(0));
  EXPECT_FALSE(runs.BestFit(Bytes(51)).has_value());
}

}  // namespace
}  // namespace gmlake::bench
