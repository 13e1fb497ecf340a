// What the random programs found, each as the shortest program or sequence that showed it. A test stays here for good.

#include <cstdint>
#include <string>
#include <vector>

#include "cc/core/allocator.h"
#include "cc/driver/fake_driver.h"
#include "cc/safety/stamps.h"
#include "gtest/gtest.h"

namespace gmlake {
namespace {

const StreamHandle kOwner{reinterpret_cast<void*>(1)};
const StreamHandle kSecond{reinterpret_cast<void*>(2)};
const StreamHandle kThird{reinterpret_cast<void*>(3)};

class RegressionTest : public testing::Test {
 protected:
  void TearDown() override {
    EXPECT_EQ(allocator_.CheckInvariants(), "");
    EXPECT_EQ(driver_.violations(), std::vector<std::string>());
  }

  FakeDriver driver_{GiB(4)};
  Allocator allocator_{&driver_, {MiB(64)}};
};

TEST_F(RegressionTest, SizesThatOverflowWhenRoundedAreRefused) {
  for (int64_t size : {INT64_MAX, INT64_MAX - 255, INT64_MAX / 2, int64_t{1} << 47}) {
    EXPECT_EQ(allocator_.Allocate(Bytes(size), kOwner).status().code(), StatusCode::kOutOfMemory);
  }
  EXPECT_EQ(driver_.num_blocks(), 0);
}

// A size that was unsigned at the caller's arrives negative: it is huge, not nothing.
TEST_F(RegressionTest, NegativeSizesAreRefused) {
  for (int64_t size : {int64_t{-1}, INT64_MIN}) {
    EXPECT_EQ(allocator_.Allocate(Bytes(size), kOwner).status().code(), StatusCode::kOutOfMemory);
  }
}

// A limit between two granules: the last granule below it is the last there is.
TEST_F(RegressionTest, ALimitThatIsNoMultipleOfTheGranuleHolds) {
  ASSERT_TRUE(allocator_.SetLimit(MiB(5)).ok());
  for (int i = 0; i < 6; ++i) allocator_.Allocate(MiB(1), kOwner).status().IgnoreError();
  EXPECT_EQ(allocator_.Stats().bytes_reserved, MiB(4));
}

// A growth fails and its mappings will not come off: the addresses under them are lost, the rest of the limit is not.
TEST_F(RegressionTest, GrowthGoesAroundMappingsThatAreStuck) {
  ASSERT_TRUE(allocator_.Free(*allocator_.Allocate(MiB(2), kOwner), kOwner));
  for (int64_t first = 0; first < 12; ++first) {
    driver_.FailCalls(first, 100, StatusCode::kDriverError);
    const StatusOr<Address> some = allocator_.Allocate(MiB(8), kOwner);
    driver_.StopFailing();
    if (some.ok()) allocator_.Free(*some, kOwner);
    const Bytes sound = MiB(64) - allocator_.Stats().bytes_quarantined;
    const StatusOr<Address> all = allocator_.Allocate(sound, kOwner);
    ASSERT_TRUE(all.ok()) << first << ": " << all.status().message();
    ASSERT_TRUE(allocator_.Free(*all, kOwner));
    allocator_.Trim(Bytes(0));
  }
  EXPECT_GT(allocator_.Stats().bytes_quarantined, Bytes(0));
}

// What is free under mappings that are in doubt is reached by other addresses.
TEST_F(RegressionTest, ARangeThatWillNotComeOffIsNotUsedAgain) {
  std::vector<Address> leases;
  for (int i = 0; i < 8; ++i) leases.push_back(*allocator_.Allocate(MiB(8), kOwner));
  for (int i = 0; i < 8; i += 2) allocator_.Free(leases[i], kOwner);
  const Address stitched = *allocator_.Allocate(MiB(32), kOwner);
  allocator_.Free(stitched, kOwner);
  driver_.FailNamed("unmap", 0, 1, StatusCode::kDriverError);
  allocator_.Trim(Bytes(0));
  ASSERT_EQ(driver_.num_failed_unmaps(), 1);
  for (Bytes size : {MiB(24), MiB(32), MiB(32)}) {
    const Address other = *allocator_.Allocate(size, kOwner);
    EXPECT_TRUE(other + size <= stitched || stitched + MiB(32) <= other) << ToString(size);
    allocator_.Free(other, kOwner);
  }
}

// A stitch fails and its mappings will not come off: the blocks under them keep their memory whoever releases them, so
// they are not released.
TEST_F(RegressionTest, ABlockWithAStuckAliasIsNotReleased) {
  std::vector<Address> leases;
  for (int i = 0; i < 8; ++i) leases.push_back(*allocator_.Allocate(MiB(8), kOwner));
  for (int i = 0; i < 8; i += 2) allocator_.Free(leases[i], kOwner);
  driver_.FailCalls(4, 100, StatusCode::kDriverError);
  ASSERT_FALSE(allocator_.Allocate(MiB(32), kOwner).ok());
  driver_.StopFailing();
  ASSERT_GT(driver_.num_failed_unmaps(), 0);
  allocator_.Trim(Bytes(0));
  EXPECT_EQ(allocator_.Stats().bytes_reserved, driver_.memory_in_use());
  EXPECT_TRUE(allocator_.Allocate(MiB(32), kOwner).ok());
}

// A pending free settles while a request on another stream is being served: that stream has to wait for it as well.
TEST_F(RegressionTest, WhatComesFreeDuringARequestIsInOrderForIt) {
  const Address pending = *allocator_.Allocate(MiB(64), kOwner);
  driver_.SetCapturing(kSecond, true);
  driver_.Launch(kSecond, pending, MiB(64), /*owner=*/1);
  ASSERT_TRUE(allocator_.Free(pending, kSecond));
  driver_.SetCapturing(kSecond, false);
  const Address again = *allocator_.Allocate(MiB(64), kThird);
  driver_.Launch(kThird, again, MiB(64), /*owner=*/2);
}

// The driver puts a second primitive range right behind the first. Free pieces on both sides of the border follow each
// other, but are not one: what was lent across it was lent from the first range alone.
TEST(Regression, WhatIsFreeInTwoRangesThatBorderOnEachOtherIsNotOnePiece) {
  FakeDriver driver(GiB(1));
  driver.ReuseNames();
  AllocatorOptions options{MiB(64)};
  options.range_size = {/*per_total=*/0, /*least=*/MiB(8)};
  Allocator allocator(&driver, options);
  std::vector<Address> leases;
  for (int i = 0; i < 4; ++i) leases.push_back(*allocator.Allocate(MiB(8), kOwner));
  for (Address lease : leases) allocator.Free(lease, kOwner);
  const StatusOr<Address> across = allocator.Allocate(MiB(32), kOwner);
  ASSERT_TRUE(across.ok());
  EXPECT_EQ(allocator.CheckInvariants(), "");
  driver.Launch(kOwner, *across, MiB(32));
  EXPECT_EQ(driver.violations(), std::vector<std::string>());
}

// Two neighbours are copied as one. The first is freed while the device sleeps, and its block with it; what is left
// begins in the next block, and not a block's length behind where the first began.
TEST(Regression, ALeaseWakesUpWholeBehindANeighbourThatWasFreedMeanwhile) {
  FakeDriver driver(GiB(1));
  Stamps stamps(&driver);
  Allocator allocator(&driver, {MiB(64), {}, {}, &stamps});
  const Address before = *allocator.Allocate(KiB(1536), kOwner);
  const Address first = *allocator.Allocate(MiB(1), kOwner);
  const Address second = *allocator.Allocate(MiB(2), kOwner);
  ASSERT_EQ(before + KiB(1536), first);
  ASSERT_EQ(first + MiB(1), second);
  stamps.Put(second, 42);
  ASSERT_TRUE(allocator.Free(before, kOwner));
  ASSERT_TRUE(allocator.Sleep({}).ok());
  const Bytes asleep = allocator.Stats().bytes_asleep;
  ASSERT_TRUE(allocator.Free(first, kOwner));
  ASSERT_TRUE(allocator.Wake().ok());
  ASSERT_LT(allocator.Stats().bytes_reserved, asleep);  // a block was given up
  EXPECT_TRUE(stamps.IsAt(second, 42));
}

// A copy to the host fails, and then the driver refuses everything: the device stays awake as it was. It was taken for
// asleep, with contents on the host that were not there, and the next attempt to wake it gave them up.
TEST(Regression, ASleepThatCopiesNothingNeedsNoDriverToStayAwake) {
  FakeDriver driver(GiB(1));
  Stamps stamps(&driver);
  Allocator allocator(&driver, {MiB(64), {}, {}, &stamps});
  const Address lease = *allocator.Allocate(MiB(4), kOwner);
  stamps.Put(lease, 42);
  stamps.FailCall(1);  // the first copy; the device has been waited for
  driver.FailNamed("set access", 0, 100, StatusCode::kDriverError);
  EXPECT_FALSE(allocator.Sleep({}).ok());
  EXPECT_FALSE(allocator.IsAsleep());
  EXPECT_TRUE(allocator.Wake().ok());
  driver.StopFailing();
  EXPECT_TRUE(stamps.IsAt(lease, 42));
  EXPECT_TRUE(allocator.Sleep({}).ok());
}

}  // namespace
}  // namespace gmlake
