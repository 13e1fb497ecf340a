#include "cc/bench/ownership.h"

#include <gtest/gtest.h>

namespace gmlake::bench {
namespace {

class OwnershipTest : public ::testing::Test {
 protected:
  Address Map(BlockHandle block) {
    const Address range = *driver_.Reserve(MiB(4));
    EXPECT_TRUE(driver_.Map(range, MiB(4), block).ok());
    EXPECT_TRUE(driver_.SetAccess(range, MiB(4)).ok());
    return range;
  }

  ModelDriver driver_{GiB(1)};
  Ownership ownership_{&driver_};
  const BlockHandle block_ = *driver_.Create(MiB(4));
  const Address range_ = Map(block_);
  const Address alias_ = Map(block_);
};

TEST_F(OwnershipTest, SeesThroughAliases) {
  ASSERT_TRUE(ownership_.Claim(range_, MiB(2)).ok());
  EXPECT_FALSE(ownership_.Claim(alias_ + MiB(1), MiB(1)).ok());
  EXPECT_FALSE(ownership_.Claim(alias_, MiB(4)).ok());
  EXPECT_TRUE(ownership_.Claim(alias_ + MiB(2), MiB(2)).ok());
}

TEST_F(OwnershipTest, LetsMemoryBeClaimedAgainAfterItsReturn) {
  ASSERT_TRUE(ownership_.Claim(range_, MiB(4)).ok());
  ASSERT_TRUE(ownership_.Return(range_, MiB(4)).ok());
  EXPECT_TRUE(ownership_.Claim(alias_, MiB(4)).ok());
}

TEST_F(OwnershipTest, NoticesThatALiveLeaseWasUnmapped) {
  ASSERT_TRUE(ownership_.Claim(range_, MiB(4)).ok());
  ASSERT_TRUE(driver_.Unmap(range_, MiB(4)).ok());
  EXPECT_FALSE(ownership_.Return(range_, MiB(4)).ok());
}

TEST_F(OwnershipTest, NoticesThatALiveLeaseWasRemapped) {
  ASSERT_TRUE(ownership_.Claim(range_, MiB(4)).ok());
  ASSERT_TRUE(driver_.Unmap(range_, MiB(4)).ok());
  ASSERT_TRUE(driver_.Map(range_, MiB(4), *driver_.Create(MiB(4))).ok());
  ASSERT_TRUE(driver_.SetAccess(range_, MiB(4)).ok());
  EXPECT_FALSE(ownership_.Return(range_, MiB(4)).ok());
}

TEST_F(OwnershipTest, RefusesWhatIsNotAccessible) { EXPECT_FALSE(ownership_.Claim(range_ + MiB(3), MiB(2)).ok()); }

}  // namespace
}  // namespace gmlake::bench
