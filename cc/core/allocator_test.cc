// One allocator over the scripted driver: each way of serving, what a failure leaves, streams, giving back.

#include "cc/core/allocator.h"

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "cc/driver/fake_driver.h"
#include "gtest/gtest.h"

namespace gmlake {
namespace {

const StreamHandle kOwner{reinterpret_cast<void*>(1)};
const StreamHandle kOther{reinterpret_cast<void*>(2)};

class AllocatorTest : public testing::Test {
 protected:
  explicit AllocatorTest(Bytes limit = MiB(256)) : allocator_(&driver_, {limit}) {}

  void TearDown() override {
    EXPECT_EQ(allocator_.CheckInvariants(), "");
    EXPECT_EQ(driver_.violations(), std::vector<std::string>());
  }

  Address Get(Bytes size, StreamHandle stream = kOwner) {
    StatusOr<Address> address = allocator_.Allocate(size, stream);
    EXPECT_TRUE(address.ok()) << address.status().message();
    return address.ok() ? *address : Address();
  }

  // Fills the limit with leases of `size` and frees every other one.
  std::vector<Address> MakeHoles(Bytes size, Bytes total) {
    std::vector<Address> all;
    for (Bytes sum(0); sum < total; sum += size) all.push_back(Get(size));
    std::vector<Address> kept;
    for (size_t i = 0; i < all.size(); ++i) {
      if (i % 2 == 0) {
        kept.push_back(all[i]);
      } else {
        EXPECT_TRUE(allocator_.Free(all[i], kOwner));
      }
    }
    return kept;
  }

  int64_t CountOf(Way way) const { return allocator_.Stats().by_way[static_cast<int>(way)].count; }

  FakeDriver driver_{GiB(4)};
  Allocator allocator_;
};

TEST_F(AllocatorTest, GrowsThenSplits) {
  const Address first = Get(MiB(16));
  EXPECT_TRUE(allocator_.Free(first, kOwner));
  EXPECT_EQ(Get(MiB(8)), first);
  EXPECT_EQ(CountOf(Way::kGrow), 1);
  EXPECT_EQ(CountOf(Way::kSplit), 1);
}

TEST_F(AllocatorTest, AnswersForItsLeasesOnly) {
  const Address address = Get(Bytes(1000));
  EXPECT_TRUE(allocator_.Owns(address));
  EXPECT_FALSE(allocator_.Owns(address + Bytes(256)));
  EXPECT_EQ(*allocator_.RequestedSize(address), Bytes(1000));
  EXPECT_FALSE(allocator_.Free(Address(4096), kOwner));
  EXPECT_TRUE(allocator_.Free(address, kOwner));
  EXPECT_FALSE(allocator_.Free(address, kOwner));
}

TEST_F(AllocatorTest, EveryAddressIsAligned) {
  for (int64_t size : {1, 255, 257, 5000, 1 << 20, (5 << 20) + 1}) {
    EXPECT_EQ(Get(Bytes(size)).value() % 256, 0u);
  }
}

TEST_F(AllocatorTest, StitchesWhatIsScattered) {
  MakeHoles(MiB(8), MiB(256));
  const Address large = Get(MiB(128));
  EXPECT_EQ(CountOf(Way::kStitch), 1);
  EXPECT_FALSE(driver_.Resolve(large, MiB(128)).empty());
  EXPECT_EQ(allocator_.Stats().bytes_in_use, MiB(256));
}

TEST_F(AllocatorTest, TheSameStitchCostsNothingTwice) {
  MakeHoles(MiB(8), MiB(256));
  const Address large = Get(MiB(128));
  allocator_.Free(large, kOwner);
  const int64_t calls = allocator_.Stats().driver_calls.memory_calls();
  EXPECT_EQ(Get(MiB(128)), large);
  EXPECT_EQ(CountOf(Way::kReuse), 1);
  EXPECT_EQ(allocator_.Stats().driver_calls.memory_calls(), calls);
}

TEST_F(AllocatorTest, CreatesOnlyTheDeficit) {
  MakeHoles(MiB(8), MiB(128));
  const Bytes before = allocator_.Stats().bytes_reserved;
  Get(MiB(96));
  EXPECT_EQ(CountOf(Way::kStitch), 1);
  EXPECT_LE(allocator_.Stats().bytes_reserved - before, MiB(34));
}

TEST_F(AllocatorTest, NoTwoLeasesShareAByte) {
  MakeHoles(MiB(6), MiB(200));
  const Address stitched = Get(MiB(50));
  const Address more = Get(MiB(40));
  std::map<uint64_t, std::vector<std::pair<Bytes, Bytes>>> owned;
  for (const auto& [address, size] : {std::pair(stitched, MiB(50)), std::pair(more, MiB(40))}) {
    for (const FakeDriver::Extent& extent : driver_.Resolve(address, size)) {
      for (const auto& [from, to] : owned[extent.block]) {
        EXPECT_TRUE(extent.offset + extent.size <= from || to <= extent.offset);
      }
      owned[extent.block].push_back({extent.offset, extent.offset + extent.size});
    }
  }
}

TEST_F(AllocatorTest, RefusesBeyondTheLimitAndStaysAsItWas) {
  Get(MiB(100));
  const AllocatorStats before = allocator_.Stats();
  EXPECT_EQ(allocator_.Allocate(MiB(200), kOwner).status().code(), StatusCode::kOutOfMemory);
  const AllocatorStats after = allocator_.Stats();
  EXPECT_EQ(after.bytes_reserved, before.bytes_reserved);
  EXPECT_EQ(after.driver_calls.memory_calls(), before.driver_calls.memory_calls());
  EXPECT_EQ(after.num_failures, 1);
  Get(MiB(100));
}

TEST_F(AllocatorTest, SmallRequestsShareASlab) {
  const Address a = Get(Bytes(100));
  const Address b = Get(Bytes(100));
  EXPECT_EQ(b - a, Bytes(256));
  EXPECT_EQ(CountOf(Way::kSmall), 2);
  EXPECT_EQ(allocator_.Stats().bytes_reserved, MiB(2));
}

TEST_F(AllocatorTest, OneStreamRecordsNothing) {
  for (int i = 0; i < 10; ++i) allocator_.Free(Get(MiB(8)), kOwner);
  EXPECT_EQ(allocator_.Stats().driver_calls.record_event, 0);
}

TEST_F(AllocatorTest, AnotherStreamWaitsForHome) {
  const Address address = Get(MiB(8));
  driver_.Launch(kOwner, address, MiB(8));
  allocator_.Free(address, kOwner);
  EXPECT_EQ(Get(MiB(8), kOther), address);
  EXPECT_EQ(allocator_.Stats().num_stream_waits, 1);
}

TEST_F(AllocatorTest, HomeWaitsForAFreeOnAnotherStream) {
  const Address address = Get(MiB(8));
  driver_.Launch(kOther, address, MiB(8));
  allocator_.Free(address, kOther);
  EXPECT_EQ(allocator_.Stats().num_stream_waits, 1);
  EXPECT_GT(allocator_.Trim(Bytes(0)), Bytes(0));
  EXPECT_EQ(driver_.num_events(), 0);
}

TEST_F(AllocatorTest, AFreeDuringCaptureWaits) {
  const Address address = Get(MiB(8));
  driver_.SetCapturing(kOther, true);
  EXPECT_TRUE(allocator_.Free(address, kOther));
  EXPECT_EQ(allocator_.Stats().bytes_pending, MiB(8));
  EXPECT_NE(Get(MiB(8)), address);
  driver_.SetCapturing(kOther, false);
  allocator_.Maintain();
  EXPECT_EQ(allocator_.Stats().bytes_pending, Bytes(0));
}

TEST_F(AllocatorTest, CaptureForbidsMappingButNotReuse) {
  const Address address = Get(MiB(8));
  allocator_.Free(address, kOwner);
  driver_.SetCapturing(kOwner, true);
  EXPECT_EQ(Get(MiB(8)), address);
  EXPECT_EQ(allocator_.Allocate(MiB(64), kOwner).status().code(), StatusCode::kFailedPrecondition);
  driver_.SetCapturing(kOwner, false);
  Get(MiB(64));
}

TEST_F(AllocatorTest, AStreamThatIsRetiredIsWaitedForAndNotTouchedAgain) {
  const Address address = Get(MiB(8));
  driver_.Launch(kOwner, address, MiB(8));
  allocator_.Free(address, kOwner);
  ASSERT_TRUE(allocator_.RetireStream(kOwner).ok());
  const int64_t recorded = allocator_.Stats().driver_calls.record_event;
  EXPECT_EQ(Get(MiB(8), kOther), address);
  EXPECT_TRUE(allocator_.Free(address, kOther));
  EXPECT_EQ(allocator_.Stats().driver_calls.record_event, recorded) << "kOther is home now";
  EXPECT_EQ(allocator_.Trim(Bytes(0)), MiB(8));
}

TEST_F(AllocatorTest, RetiringAnotherStreamLeavesHomeAsItIs) {
  allocator_.Free(Get(MiB(8)), kOwner);
  ASSERT_TRUE(allocator_.RetireStream(kOther).ok());
  allocator_.Free(Get(MiB(8)), kOwner);
  EXPECT_EQ(allocator_.Stats().driver_calls.record_event, 0);
}

TEST_F(AllocatorTest, MemoryOfAStreamThatEndsInItsCaptureIsUsedAgainOnceTheDeviceWasWaitedFor) {
  const Address address = Get(MiB(8));
  driver_.SetCapturing(kOther, true);
  EXPECT_TRUE(allocator_.Free(address, kOther));
  EXPECT_EQ(allocator_.RetireStream(kOther).code(), StatusCode::kFailedPrecondition);
  driver_.SetCapturing(kOther, false);
  allocator_.Maintain();
  EXPECT_EQ(allocator_.Stats().bytes_pending, MiB(8));
  EXPECT_NE(Get(MiB(8)), address);
  allocator_.Trim(MiB(256));
  EXPECT_EQ(allocator_.Stats().bytes_pending, Bytes(0));
  EXPECT_EQ(Get(MiB(8)), address);
}

// Preallocated blocks exist, and no other number changes as if they had been leased.
TEST_F(AllocatorTest, PreallocationHoldsBlocksAndLeasesNothing) {
  ASSERT_TRUE(allocator_.Preallocate(MiB(64)).ok());
  EXPECT_EQ(driver_.memory_in_use(), MiB(64));
  ASSERT_TRUE(allocator_.Preallocate(GiB(1)).ok());
  EXPECT_EQ(driver_.memory_in_use(), MiB(256));
  const AllocatorStats stats = allocator_.Stats();
  EXPECT_EQ(stats.bytes_in_use + stats.peak_bytes_in_use, Bytes(0));
  EXPECT_EQ(stats.peak_bytes_reserved, MiB(256));
  const int64_t calls = stats.driver_calls.memory_calls();
  const Address all = Get(MiB(256));
  EXPECT_EQ(allocator_.Stats().driver_calls.memory_calls(), calls);
  allocator_.Free(all, kOwner);
}

// Blocks are split and not recut while few bytes are leased, even if the whole limit is held.
TEST_F(AllocatorTest, WhatWasPreallocatedIsNoPeakThatPlacingWouldHeed) {
  ASSERT_TRUE(allocator_.Preallocate(MiB(256)).ok());
  const int64_t calls = allocator_.Stats().driver_calls.memory_calls();
  for (int i = 0; i < 20; ++i) Get(MiB(3));
  EXPECT_EQ(allocator_.Stats().driver_calls.memory_calls(), calls);
}

TEST_F(AllocatorTest, TrimGivesIdleBlocksBack) {
  const std::vector<Address> kept = MakeHoles(MiB(8), MiB(256));
  allocator_.Free(Get(MiB(128)), kOwner);
  allocator_.Trim(Bytes(0));
  EXPECT_EQ(allocator_.Stats().bytes_reserved, MiB(128));
  EXPECT_EQ(driver_.memory_in_use(), MiB(128));
  Get(MiB(100));
}

// Half of a range is leased. The blocks of the other half can be released, and the leased half still works.
TEST_F(AllocatorTest, TrimTakesIdleBlocksOutOfARangeInUse) {
  MakeHoles(MiB(8), MiB(256));
  allocator_.Free(Get(MiB(128)), kOwner);
  const Address part = Get(MiB(64));
  const size_t num_pieces = driver_.Resolve(part, MiB(64)).size();
  EXPECT_EQ(CountOf(Way::kReuse), 1);
  EXPECT_EQ(allocator_.Trim(Bytes(0)), MiB(64));
  EXPECT_EQ(allocator_.CheckInvariants(), "");
  EXPECT_EQ(driver_.Resolve(part, MiB(64)).size(), num_pieces);
  EXPECT_TRUE(allocator_.Free(part, kOwner));
  EXPECT_EQ(Get(MiB(64)), part);
}

TEST_F(AllocatorTest, ABlockThatWillNotComeOutOfARangeInUseStays) {
  MakeHoles(MiB(8), MiB(256));
  allocator_.Free(Get(MiB(128)), kOwner);
  const Address part = Get(MiB(64));
  const size_t num_pieces = driver_.Resolve(part, MiB(64)).size();
  driver_.FailNamed("unmap", 0, 1, StatusCode::kDriverError);
  EXPECT_EQ(allocator_.Trim(Bytes(0)), Bytes(0));
  EXPECT_EQ(allocator_.CheckInvariants(), "");
  EXPECT_EQ(driver_.Resolve(part, MiB(64)).size(), num_pieces);
}

TEST_F(AllocatorTest, TrimWaitsForQueuedWork) {
  const Address address = Get(MiB(64));
  driver_.Launch(kOwner, address, MiB(64));
  allocator_.Free(address, kOwner);
  allocator_.Trim(Bytes(0));
  EXPECT_EQ(allocator_.Stats().bytes_reserved, Bytes(0));
}

TEST_F(AllocatorTest, TheLimitCanSinkToWhatIsInUse) {
  const Address address = Get(MiB(64));
  EXPECT_EQ(allocator_.SetLimit(MiB(32)).code(), StatusCode::kFailedPrecondition);
  EXPECT_EQ(allocator_.Stats().bytes_limit, MiB(256));
  allocator_.Free(address, kOwner);
  EXPECT_TRUE(allocator_.SetLimit(MiB(32)).ok());
  EXPECT_LE(allocator_.Stats().bytes_reserved, MiB(32));
}

TEST_F(AllocatorTest, SurvivesADeviceThatOthersFill) {
  driver_.SetForeignMemory(GiB(4) - MiB(16));
  EXPECT_EQ(allocator_.Allocate(MiB(64), kOwner).status().code(), StatusCode::kOutOfMemory);
  EXPECT_EQ(driver_.memory_in_use(), Bytes(0));
  Get(MiB(16));
}

// The budget allows no second seam, and the blocks that could be cut are in use until a wait for the device.
TEST(AllocatorSeams, ABlockIsCutAfterAWaitRatherThanSeamed) {
  FakeDriver driver(GiB(4));
  Thresholds thresholds;
  thresholds.spare_per_seams = GiB(1).count();
  thresholds.request_per_own = 1;
  Allocator allocator(&driver, {MiB(256), {}, thresholds});
  const Address idle = *allocator.Allocate(MiB(64), kOwner);
  for (Bytes size : {MiB(64), MiB(64), MiB(56)}) ASSERT_TRUE(allocator.Allocate(size, kOwner).ok());
  driver.Launch(kOwner, idle, MiB(64));
  allocator.Free(idle, kOwner);
  int num_waits = 0;
  driver.OnWait([&] { ++num_waits; });
  ASSERT_TRUE(allocator.Allocate(MiB(20), kOwner).ok());
  EXPECT_EQ(num_waits, 0);
  ASSERT_TRUE(allocator.Allocate(MiB(20), kOwner).ok());
  EXPECT_EQ(num_waits, 1);
  EXPECT_EQ(allocator.Stats().driver_calls.release, 1);
  EXPECT_EQ(allocator.CheckInvariants(), "");
  EXPECT_EQ(driver.violations(), std::vector<std::string>());
}

// One block of 256 MiB has a seam, which is twice the budget of (4 - 3.5) GiB / 4. So a block is cut for the next lease
// that would end inside a block.
TEST(AllocatorSeams, BeyondTheBudgetABlockIsCut) {
  FakeDriver driver(GiB(8));
  Allocator allocator(&driver, {GiB(4)});
  allocator.Free(*allocator.Allocate(GiB(3) + MiB(512), kOwner), kOwner);
  ASSERT_TRUE(allocator.Allocate(MiB(100), kOwner).ok());
  EXPECT_EQ(allocator.Stats().driver_calls.release, 0);
  ASSERT_TRUE(allocator.Allocate(MiB(200), kOwner).ok());
  EXPECT_EQ(allocator.Stats().driver_calls.release, 1);
  EXPECT_EQ(allocator.CheckInvariants(), "");
}

// Maintenance never touches a range in doubt, however often it runs.
TEST(AllocatorDoubt, ARangeThatWouldNotComeOffIsNotTouchedAgain) {
  FakeDriver driver(GiB(4));
  Allocator allocator(&driver, {MiB(64), {/*mappings=*/4, /*bytes=*/MiB(1)}});
  std::vector<Address> leases;
  for (int i = 0; i < 8; ++i) leases.push_back(*allocator.Allocate(MiB(8), kOwner));
  for (int i = 0; i < 8; i += 2) allocator.Free(leases[i], kOwner);
  allocator.Free(*allocator.Allocate(MiB(32), kOwner), kOwner);
  driver.FailNamed("unmap", 0, 1, StatusCode::kDriverError);
  allocator.Maintain();
  driver.StopFailing();
  ASSERT_EQ(driver.num_failed_unmaps(), 1);
  const int64_t changes = driver.num_mapping_changes();
  for (int i = 0; i < 3; ++i) allocator.Maintain();
  allocator.Trim(Bytes(0));
  EXPECT_EQ(driver.num_mapping_changes(), changes) << "its blocks are not given back, either";
  EXPECT_EQ(allocator.CheckInvariants(), "");
}

TEST(AllocatorEnd, LeavesNothingBehind) {
  FakeDriver driver(GiB(4));
  {
    Allocator allocator(&driver, {MiB(256)});
    std::vector<Address> leases;
    for (int i = 0; i < 32; ++i) leases.push_back(*allocator.Allocate(MiB(8), kOwner));
    for (int i = 0; i < 32; i += 2) allocator.Free(leases[i], kOwner);
    leases.push_back(*allocator.Allocate(MiB(128), kOwner));
    for (int i = 1; i < 33; i += i < 31 ? 2 : 1) allocator.Free(leases[i], kOwner);
  }
  EXPECT_EQ(driver.memory_in_use(), Bytes(0));
  EXPECT_EQ(driver.num_reservations(), 0);
  EXPECT_EQ(driver.num_events(), 0);
  EXPECT_TRUE(driver.violations().empty());
}

}  // namespace
}  // namespace gmlake
