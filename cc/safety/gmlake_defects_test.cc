// The twenty defects that reading GMLake's code brought to light, each as a test that our own code does not have it.
//
// The comment above a test has the number of its defect, 1 to 20, and says what was wrong in GMLake.

#include <algorithm>
#include <chrono>
#include <future>
#include <string>
#include <thread>
#include <vector>

#include "cc/safety/bench.h"
#include "gtest/gtest.h"

namespace gmlake {
namespace {

constexpr int64_t kAll = 1000;

class GmlakeDefects : public testing::Test {
 protected:
  void TearDown() override { EXPECT_EQ(bench_.shadow.Check(), ""); }

  Allocator& allocator() { return *bench_.allocator; }
  AllocatorStats stats() { return bench_.allocator->Stats(); }
  int64_t CountOf(Way way) { return stats().by_way[static_cast<int>(way)].count; }

  // Eight blocks of 8 MiB with every other one free, and a stitched lease over the free ones. Its number is 4.
  void Stitch() {
    bench_.MakeHoles(MiB(8), 8);
    ASSERT_TRUE(bench_.Get(MiB(32)).ok());
    ASSERT_EQ(CountOf(Way::kStitch), 1);
  }

  // The newest event that is one of the program's.
  void ExpectRecorded(EventKind kind, Address address, Bytes requested) {
    const std::vector<Event> events = ReadRecording(&allocator()).events;
    ASSERT_FALSE(events.empty());
    EXPECT_EQ(events.back().kind, kind);
    EXPECT_EQ(events.back().address, address.value());
    EXPECT_EQ(events.back().requested, requested.count());
  }

  Bench bench_{MiB(64)};
};

// 1: the first message of a second thread waited for ever on a lock that nobody opened.
TEST(GmlakeDefect, FirstUseByManyThreadsAtOnceBlocksNobody) {
  FakeDriver driver(GiB(1));
  Allocator allocator(&driver, {MiB(64)});
  std::vector<std::future<bool>> threads;
  for (int i = 0; i < 4; ++i) {
    threads.push_back(std::async(std::launch::async, [&allocator] {
      const StatusOr<Address> address = allocator.Allocate(MiB(2), kOwner);
      return address.ok() && allocator.Free(*address, kOwner);
    }));
  }
  for (std::future<bool>& thread : threads) {
    ASSERT_EQ(thread.wait_for(std::chrono::seconds(30)), std::future_status::ready);
    EXPECT_TRUE(thread.get());
  }
  EXPECT_EQ(allocator.CheckInvariants(), "");
}

// 2: an address that was never reserved was freed.
TEST_F(GmlakeDefects, AReservationThatFailsFreesNothing) {
  bench_.MakeHoles(MiB(8), 8);
  bench_.driver.FailNamed("reserve", 0, kAll, StatusCode::kOutOfMemory);
  EXPECT_FALSE(bench_.Get(MiB(32)).ok());
  EXPECT_GT(bench_.driver.num_failed(), 0);
  EXPECT_TRUE(bench_.driver.violations().empty());
}

// 3: errors of the driver vanished in an assert; memory leaked in silence.
TEST_F(GmlakeDefects, AnUnmapThatFailsIsCountedAndReported) {
  ASSERT_TRUE(bench_.Get(MiB(32)).ok());
  bench_.Drop(0);
  bench_.driver.FailNamed("unmap", 0, 1, StatusCode::kDriverError);
  allocator().Trim(Bytes(0));
  EXPECT_EQ(bench_.driver.num_failed_unmaps(), 1);
  EXPECT_GT(stats().bytes_quarantined, Bytes(0));
  EXPECT_EQ(stats().num_quarantined_blocks, 1);
}

// 4: after a failed map the whole range counted as mapped, and its end unmapped what was never there.
TEST_F(GmlakeDefects, AMapThatFailsHalfWayIsUndoneExactly) {
  bench_.MakeHoles(MiB(8), 8);
  const int64_t mappings = bench_.driver.num_mappings();
  for (int64_t map = 0; map < 4; ++map) {
    bench_.driver.FailNamed("map", map, 1, StatusCode::kDriverError);
    EXPECT_FALSE(bench_.Get(MiB(32)).ok());
    EXPECT_EQ(bench_.driver.num_mappings(), mappings);
  }
}

// 5: a retry could never succeed, because the first result was kept.
TEST_F(GmlakeDefects, AccessThatIsNotReadyOnceIsTriedAgainAndServes) {
  bench_.MakeHoles(MiB(8), 8);
  bench_.driver.FailNamed("set access", 0, 1, StatusCode::kNotReady);
  EXPECT_TRUE(bench_.Get(MiB(32)).ok());
  EXPECT_EQ(bench_.driver.num_failed(), 1);
}

// 6: one call to open access for every 2 MiB.
TEST_F(GmlakeDefects, AStitchOpensAccessInOneCall) {
  bench_.MakeHoles(MiB(8), 8);
  const int64_t before = stats().driver_calls.set_access;
  ASSERT_TRUE(bench_.Get(MiB(32)).ok());
  EXPECT_EQ(stats().driver_calls.set_access - before, 1);
}

// 7: one lock for all devices.
TEST_F(GmlakeDefects, ADeviceThatIsStuckHoldsUpNoOther) {
  std::promise<void> reached, open;
  std::shared_future<void> opened = open.get_future().share();
  bench_.driver.OnCreate([&reached, opened, once = false]() mutable {
    if (!once) reached.set_value();
    once = true;
    opened.wait();
  });
  std::thread stuck([this] { EXPECT_TRUE(bench_.Get(MiB(4)).ok()); });
  reached.get_future().wait();
  Bench other;
  EXPECT_TRUE(other.Get(MiB(16)).ok());
  open.set_value();
  stuck.join();
}

// 8: fourteen places ended the process.
TEST_F(GmlakeDefects, ADriverThatRefusesEverythingEndsNothing) {
  Stitch();
  bench_.driver.FailCalls(0, kAll, StatusCode::kDriverError);
  EXPECT_FALSE(bench_.Get(MiB(60)).ok());
  bench_.Drop(4);
  allocator().Trim(Bytes(0));
  allocator().Maintain();
  EXPECT_EQ(allocator().SetLimit(MiB(1)).code(), StatusCode::kFailedPrecondition);
  bench_.driver.StopFailing();
  EXPECT_TRUE(bench_.Get(MiB(16)).ok());
}

// 9, 11: a list was cut while it was walked, and a range that was gone stayed in the lists of its blocks.
TEST_F(GmlakeDefects, BlocksSharedByManyRangesGoWithAllOfThem) {
  Stitch();
  bench_.Drop(4);
  for (int taken = 1; taken <= 2; ++taken) {  // other pieces are free each time, so other ranges are made
    for (int i = 0; i <= taken; ++i) ASSERT_TRUE(bench_.Get(MiB(8)).ok());
    for (int i = 0; i < taken; ++i) bench_.Drop(4);
    ASSERT_TRUE(bench_.Get(MiB(20)).ok());
    while (bench_.shadow.leases().size() > 4) bench_.Drop(4);
  }
  ASSERT_GE(stats().num_stitched_ranges, 2);
  bench_.DropAll();
  allocator().Trim(Bytes(0));
  EXPECT_EQ(stats().num_stitched_ranges, 0);
  EXPECT_EQ(bench_.driver.num_mappings(), 0);
  EXPECT_TRUE(bench_.Get(MiB(64)).ok());
}

// 10: a piece was taken out of a range in use.
TEST_F(GmlakeDefects, TrimLeavesALiveStitchedLeaseWhole) {
  Stitch();
  for (int i = 3; i >= 0; --i) bench_.Drop(i);
  allocator().Trim(Bytes(0));
  EXPECT_EQ(stats().bytes_in_use, MiB(32));
  EXPECT_FALSE(bench_.driver.Resolve(bench_.shadow[0].address, MiB(32)).empty());
}

// 12: after a stitch that failed, its pieces were lost.
TEST_F(GmlakeDefects, PiecesOfAFailedStitchServeAtOnce) {
  bench_.MakeHoles(MiB(8), 8);
  bench_.driver.FailNamed("map", 2, 1, StatusCode::kDriverError);
  ASSERT_FALSE(bench_.Get(MiB(32)).ok());
  EXPECT_TRUE(bench_.Get(MiB(8)).ok());
  EXPECT_TRUE(bench_.Get(MiB(24)).ok());
  EXPECT_EQ(stats().bytes_reserved, MiB(64));
}

// 13: a larger range could be reused, but not while history was recorded: that ended the process.
TEST_F(GmlakeDefects, ALargerRangeIsReusedWhileHistoryIsRecorded) {
  Stitch();
  bench_.Drop(4);
  allocator().Record(4);  // so short that every request pushes older events out
  const int64_t reused = CountOf(Way::kReuse);
  for (int less = 0; less < 8; ++less) {
    ASSERT_TRUE(bench_.Get(MiB(32) - KiB(512) * less).ok());
    ExpectRecorded(EventKind::kAlloc, bench_.shadow[4].address, MiB(32) - KiB(512) * less);
    const Address address = bench_.shadow[4].address;
    bench_.Drop(4);
    ExpectRecorded(EventKind::kFree, address, MiB(32) - KiB(512) * less);
  }
  EXPECT_GT(CountOf(Way::kReuse), reused + 1);
  EXPECT_GT(ReadRecording(&allocator()).dropped, 8);
}

// 14: the bytes of stitched ranges were counted up but not down, until collection never stopped.
TEST_F(GmlakeDefects, MappedBytesDoNotDrift) {
  bench_.MakeHoles(MiB(8), 8);
  allocator().Trim(Bytes(0));
  const Bytes mapped = stats().bytes_mapped;
  for (int i = 0; i < 20; ++i) {
    ASSERT_TRUE(bench_.Get(MiB(30 - i % 3)).ok());
    bench_.Drop(4);
    allocator().Trim(Bytes(0));
  }
  EXPECT_EQ(stats().bytes_mapped, mapped);
  EXPECT_EQ(stats().num_stitched_ranges, 0);
}

// 15: memory was unmapped while kernels ran.
TEST_F(GmlakeDefects, NothingIsUnmappedUnderQueuedWork) {
  Stitch();
  bench_.DropAll();  // the work of all five is still queued
  EXPECT_EQ(allocator().Trim(Bytes(0)), MiB(64));
  EXPECT_TRUE(bench_.driver.violations().empty());
}

// 16: an event that was never recorded counted as complete.
TEST_F(GmlakeDefects, AFreeWhoseEventWasNeverRecordedIsNotComplete) {
  ASSERT_TRUE(bench_.Get(MiB(32), kOwner).ok());
  bench_.driver.Order(kOther, kOwner);
  bench_.driver.Launch(kOther, bench_.shadow[0].address, MiB(32), /*owner=*/1);
  bench_.driver.FailNamed("record", 0, kAll, StatusCode::kDriverError);
  bench_.Drop(0, kOther);
  EXPECT_EQ(stats().bytes_pending, MiB(32));
  allocator().Trim(Bytes(0));
  EXPECT_EQ(stats().bytes_reserved, MiB(32));
  bench_.driver.StopFailing();
  EXPECT_TRUE(bench_.Get(MiB(32)).ok());
}

// 17: what a graph had captured was stitched into other requests, and events were recorded during capture.
TEST_F(GmlakeDefects, DuringCaptureNothingIsMappedAndNoEventRecorded) {
  Stitch();
  bench_.driver.SetCapturing(kOwner, true);
  const int64_t changes = bench_.driver.num_mapping_changes();
  bench_.Drop(4);
  EXPECT_EQ(bench_.Get(MiB(40)).code(), StatusCode::kFailedPrecondition);
  EXPECT_EQ(bench_.Get(MiB(2), kOther).code(), StatusCode::kFailedPrecondition);
  allocator().Trim(Bytes(0));
  allocator().Maintain();
  EXPECT_EQ(bench_.driver.num_mapping_changes(), changes);
  EXPECT_EQ(stats().driver_calls.record_event, 0);
  EXPECT_TRUE(bench_.Get(MiB(32)).ok());  // what is mapped still serves
}

// 18: devices shared tables without a lock (told by ThreadSanitizer, see docs/reliability.md).
TEST_F(GmlakeDefects, DevicesShareNothing) {
  std::vector<std::thread> threads;
  for (int device = 0; device < 4; ++device) {
    threads.emplace_back([] {
      Bench bench;
      for (int round = 0; round < 50; ++round) {
        bench.MakeHoles(MiB(4), 8);
        bench.Get(MiB(16), kOther).IgnoreError();
        bench.DropAll();
      }
      EXPECT_EQ(bench.shadow.Check(), "");
    });
  }
  for (std::thread& thread : threads) thread.join();
}

std::chrono::nanoseconds FastestFree(Allocator* allocator, Address* lease) {
  auto least = std::chrono::nanoseconds::max();
  for (int i = 0; i < 200; ++i) {
    const auto start = std::chrono::steady_clock::now();
    EXPECT_TRUE(allocator->Free(*lease, kOwner));
    least = std::min<std::chrono::nanoseconds>(least, std::chrono::steady_clock::now() - start);
    *lease = *allocator->Allocate(MiB(4), kOwner);
  }
  return least;
}

// 19: the cost of a free grew with the number of mappings that share its blocks. Every pair of holes is stitched once.
TEST(GmlakeDefect, AFreeCostsTheSameHoweverManyRangesShareItsBlocks) {
  FakeDriver driver(GiB(1));
  Allocator allocator(&driver, {MiB(64)});
  std::vector<Address> leases;
  for (int i = 0; i < 16; ++i) leases.push_back(*allocator.Allocate(MiB(4), kOwner));
  const auto few = FastestFree(&allocator, &leases[7]);
  for (int i = 0; i < 16; ++i) {
    for (int j = i + 2; j < 16; ++j) {
      for (int hole : {i, j}) allocator.Free(leases[hole], kOwner);
      allocator.Free(*allocator.Allocate(MiB(8), kOwner), kOwner);
      for (int hole : {i, j}) leases[hole] = *allocator.Allocate(MiB(4), kOwner);
    }
  }
  EXPECT_GE(allocator.Stats().bytes_mapped, 4 * MiB(64));
  EXPECT_LT(FastestFree(&allocator, &leases[7]), 10 * few + std::chrono::microseconds(1));
}

// 20: a block that was once split was never given back, and the sum of what is held never sank.
TEST_F(GmlakeDefects, TrimGivesBackEveryIdleBlockBesideLiveOnes) {
  for (int i = 0; i < 32; ++i) ASSERT_TRUE(bench_.Get(MiB(2)).ok());
  for (int i = 31; i >= 0; --i) {
    if (bench_.shadow[i].address.value() % MiB(4).count() != 0) bench_.Drop(i);
  }
  EXPECT_EQ(allocator().Trim(Bytes(0)), MiB(32));
  EXPECT_EQ(stats().bytes_reserved, MiB(32));
  EXPECT_EQ(bench_.driver.memory_in_use(), MiB(32));
}

}  // namespace
}  // namespace gmlake
