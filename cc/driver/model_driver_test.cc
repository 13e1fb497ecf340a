#include "cc/driver/model_driver.h"

#include <gtest/gtest.h>

namespace gmlake {
namespace {

class ModelDriverTest : public ::testing::Test {
 protected:
  // A range of `count` blocks of `size`, mapped and accessible.
  Address MappedRange(int count, Bytes size) {
    const Address range = *driver_.Reserve(size * count);
    for (int i = 0; i < count; ++i) {
      blocks_.push_back(*driver_.Create(size));
      EXPECT_TRUE(driver_.Map(range + size * i, size, blocks_.back()).ok());
    }
    EXPECT_TRUE(driver_.SetAccess(range, size * count).ok());
    return range;
  }

  void ExpectMisuse(const Status& status) {
    EXPECT_FALSE(status.ok());
    EXPECT_EQ(driver_.num_misuses(), ++misuses_) << driver_.first_misuse();
  }

  ModelDriver driver_{GiB(8)};
  std::vector<BlockHandle> blocks_;
  int misuses_ = 0;
};

TEST(CostTableTest, ReturnsWhatWasMeasuredAndInterpolatesBetween) {
  EXPECT_DOUBLE_EQ(CostPerBlock(DriverCall::kCreate, MiB(64)), 17.6);
  EXPECT_DOUBLE_EQ(CostPerBlock(DriverCall::kRelease, GiB(4)), 2130);
  EXPECT_DOUBLE_EQ(CostPerBlock(DriverCall::kRelease, MiB(320)), (118 + 367) / 2.0);
  EXPECT_NEAR(CostPerBlock(DriverCall::kCreate, MiB(7680)), 2 * 422 - 38.2, 1e-9);
}

TEST(CostTable, AReservationCostsMoreTheMoreThereAre) {
  EXPECT_DOUBLE_EQ(ReserveCost(0), 6);
  EXPECT_DOUBLE_EQ(ReserveCost(1000), 10);
  EXPECT_DOUBLE_EQ(ReserveCost(10000), 66);
  EXPECT_NEAR(ReserveCost(35000), (66 + 294) / 2.0, 1e-9);
  EXPECT_NEAR(ReserveCost(110000), 2 * 294 - 66, 1e-9);
}

TEST_F(ModelDriverTest, ChargesOneRangedSetAccessForEveryMapping) {
  MappedRange(10, MiB(32));
  const DriverCallStats calls = driver_.calls();
  EXPECT_EQ(calls.set_access, 1);
  EXPECT_EQ(calls.map, 10);
  EXPECT_NEAR(calls.time_us, ReserveCost(0) + 10 * (16.4 + 1.1 + 34.0), 1e-6);
}

TEST_F(ModelDriverTest, ReturnsMemoryWhenReleasedAndUnmapped) {
  const Address range = MappedRange(1, GiB(2));
  ASSERT_TRUE(driver_.Release(blocks_[0]).ok());
  EXPECT_EQ(driver_.memory_in_use(), GiB(2));
  ASSERT_TRUE(driver_.Unmap(range, GiB(2)).ok());
  EXPECT_EQ(driver_.memory_in_use(), Bytes(0));
  EXPECT_EQ(driver_.peak_memory_in_use(), GiB(2));
}

TEST_F(ModelDriverTest, RunsOutOfMemoryWithoutCallingItMisuse) {
  ASSERT_TRUE(driver_.Create(GiB(6)).ok());
  EXPECT_EQ(driver_.Create(GiB(3)).status().code(), StatusCode::kOutOfMemory);
  EXPECT_EQ(driver_.num_misuses(), 0);
}

TEST_F(ModelDriverTest, RefusesNonsense) {
  const Address range = MappedRange(2, MiB(4));
  ExpectMisuse(driver_.Map(range, MiB(4), blocks_[0]));           // map over map
  ExpectMisuse(driver_.Map(range + MiB(8), MiB(4), blocks_[0]));  // beyond the reservation
  ExpectMisuse(driver_.Map(range, MiB(2), blocks_[0]));           // a part of a block
  ExpectMisuse(driver_.Unmap(range, MiB(2)));                     // a part of a mapping
  ExpectMisuse(driver_.SetAccess(range, MiB(10)));                // unmapped tail
  ExpectMisuse(driver_.FreeAddress(range, MiB(8)));               // still mapped
  ExpectMisuse(driver_.Create(MiB(3)).status());
  ASSERT_TRUE(driver_.Unmap(range, MiB(8)).ok());
  ExpectMisuse(driver_.Unmap(range, MiB(8)));  // twice
  ExpectMisuse(driver_.SetAccess(range, MiB(4)));
  ASSERT_TRUE(driver_.Release(blocks_[0]).ok());
  ExpectMisuse(driver_.Release(blocks_[0]));
  ExpectMisuse(driver_.Map(range, MiB(4), blocks_[0]));
  ExpectMisuse(driver_.IsComplete(EventHandle{}).status());
}

TEST_F(ModelDriverTest, ResolvesAliasesToTheSameBytes) {
  const Address range = MappedRange(2, MiB(4));
  const Address alias = *driver_.Reserve(MiB(4));
  ASSERT_TRUE(driver_.Map(alias, MiB(4), blocks_[1]).ok());
  EXPECT_TRUE(driver_.Resolve(alias, MiB(4)).empty()) << "no access yet";
  ASSERT_TRUE(driver_.SetAccess(alias, MiB(4)).ok());
  const auto whole = driver_.Resolve(range + MiB(3), MiB(2));
  ASSERT_EQ(whole.size(), 2u);
  EXPECT_EQ(whole[1].block, driver_.Resolve(alias, MiB(1))[0].block);
  EXPECT_EQ(whole[0].offset, MiB(3));
  EXPECT_TRUE(driver_.Resolve(range + MiB(7), MiB(2)).empty()) << "runs over the end";
}

}  // namespace
}  // namespace gmlake
