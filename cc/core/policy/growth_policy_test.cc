#include "cc/core/policy/growth_policy.h"

#include "gtest/gtest.h"

namespace gmlake {
namespace {

Bytes Sum(const std::vector<Bytes>& sizes) {
  Bytes sum(0);
  for (Bytes size : sizes) sum += size;
  return sum;
}

TEST(GrowthPolicy, BlocksGrowWithThePeakAndShrinkNearTheLimit) {
  EXPECT_EQ(LargestBlock({MiB(2), Bytes(0), GiB(80), MiB(10), Bytes(0), MiB(1)}), MiB(2));
  EXPECT_EQ(LargestBlock({MiB(2), GiB(20), GiB(80), GiB(20), Bytes(0), MiB(1)}), MiB(64));
  EXPECT_EQ(LargestBlock({MiB(2), GiB(80) - MiB(10), GiB(80), GiB(80), Bytes(0), MiB(8)}), MiB(2));
}

TEST(GrowthPolicy, AllowanceNeverPassesTheLimit) {
  EXPECT_EQ(GrowthAllowance({MiB(2), GiB(10), GiB(10) + MiB(6), GiB(10), Bytes(0), MiB(1)}), MiB(6));
  EXPECT_EQ(GrowthAllowance({MiB(2), GiB(11), GiB(80), GiB(10), Bytes(0), MiB(1)}), Bytes(0));
}

TEST(GrowthPolicy, GrowsExactlyWhereThereIsNoRoomForMore) {
  EXPECT_EQ(GrowthAmount({MiB(2), GiB(10), GiB(80), GiB(10), Bytes(0), KiB(1536)}, KiB(1536)), MiB(64));
  EXPECT_EQ(GrowthAmount({MiB(2), GiB(11), GiB(80), GiB(10), Bytes(0), KiB(1536)}, KiB(1536)), KiB(1536));
}

TEST(GrowthPolicy, LargeRequestsGetBlocksOfTheirOwn) {
  const GrowthInput input{MiB(2), Bytes(0), GiB(80), GiB(1), Bytes(0), GiB(1) - MiB(2)};
  EXPECT_EQ(LargestBlock(input), MiB(64));
  EXPECT_EQ(GrowthAmount(input, GiB(1) - MiB(2)), GiB(1) - MiB(2));
}

TEST(GrowthPolicy, GrowsExactlyForARequestThatNeedNotShare) {
  EXPECT_EQ(GrowthAmount({MiB(2), GiB(9), GiB(80), GiB(9), Bytes(0), MiB(65)}, MiB(65)), MiB(65));
}

TEST(GrowthPolicy, RequestsShareWhileSeamsAreFew) {
  GrowthInput input{MiB(2), GiB(9), GiB(80), GiB(9), Bytes(0), MiB(9)};
  input.seamed = MiB(639);
  EXPECT_EQ(GrowthAmount(input, MiB(9)), MiB(64));
  input.seamed = MiB(640);
  EXPECT_EQ(GrowthAmount(input, MiB(9)), MiB(9));
}

TEST(GrowthPolicy, BlockSizesAddUp) {
  for (int64_t granules : {1, 2, 3, 31, 32, 33, 100, 1023}) {
    const std::vector<Bytes> sizes = BlockSizes(granules * MiB(2), MiB(64), MiB(2));
    EXPECT_EQ(Sum(sizes), granules * MiB(2));
    EXPECT_EQ(sizes.size(), (granules + 31) / 32);
  }
}

TEST(GrowthPolicy, WhereALeaseEndsInsideAGranuleThatGranuleIsABlock) {
  EXPECT_EQ(BlockSizes(MiB(131), MiB(64), MiB(2)), (std::vector<Bytes>{MiB(64), MiB(64), MiB(2), MiB(2)}));
  EXPECT_EQ(BlockSizes(MiB(1), MiB(64), MiB(2)), std::vector<Bytes>{MiB(2)});
}

}  // namespace
}  // namespace gmlake
