// Stitching ahead: what a request finds ready, what is left alone, what others may do while it is being mapped, and
// what is left when a driver call fails.

#include <functional>
#include <future>
#include <string>
#include <thread>
#include <vector>

#include "cc/core/allocator.h"
#include "cc/core/testing_copier.h"
#include "cc/driver/fake_driver.h"
#include "gtest/gtest.h"

namespace gmlake {
namespace {

const StreamHandle kHome{reinterpret_cast<void*>(1)};
constexpr std::chrono::milliseconds kNotAtAll(0), kPause(1), kShort(50), kLong(20000);

AllocatorOptions With(Bytes limit, ReclaimBudget budget = {}) {
  AllocatorOptions options{limit};
  options.budget = budget;
  return options;
}

// A device on which every other one of ten arrays of 8 MiB is free: 40 MiB, in five pieces.
class AheadTest : public testing::Test {
 protected:
  void SetUp() override { Open(With(MiB(80))); }

  void Open(AllocatorOptions options, bool sleeps = false) {
    allocator_.reset();
    driver_ = std::make_unique<FakeDriver>(GiB(4));
    copier_ = std::make_unique<TestingCopier>(driver_.get());
    if (sleeps) options.copier = copier_.get();
    allocator_ = std::make_unique<Allocator>(driver_.get(), options);
    std::vector<Address> pieces;
    for (int i = 0; i < 10; ++i) pieces.push_back(Get(MiB(8)));
    for (int i = 0; i < 10; i += 2) allocator_->Free(pieces[i], kHome);
    kept_.clear();
    for (int i = 1; i < 10; i += 2) kept_.push_back(pieces[i]);
  }

  Address Get(Bytes size) {
    const StatusOr<Address> address = allocator_->Allocate(size, kHome);
    EXPECT_TRUE(address.ok()) << address.status().message();
    return *address;
  }

  // Does `action` in the middle of a preparation, once, between two of its mappings.
  bool PrepareAnd(const std::function<void()>& action) {
    int maps = 0;
    driver_->OnMap([&, action] {
      if (++maps == 2) action();
    });
    const bool prepared = allocator_->Prepare();
    driver_->OnMap(nullptr);
    return prepared;
  }

  int64_t Calls() const { return allocator_->Stats().driver_calls.memory_calls(); }
  void ExpectSound() {
    EXPECT_EQ(allocator_->CheckInvariants(), "");
    EXPECT_EQ(driver_->violations(), std::vector<std::string>());
    EXPECT_EQ(allocator_->Stats().bytes_reserved, driver_->memory_in_use());
  }

  std::unique_ptr<FakeDriver> driver_;
  std::unique_ptr<TestingCopier> copier_;
  std::unique_ptr<Allocator> allocator_;
  std::vector<Address> kept_;
};

TEST_F(AheadTest, TheRequestMakesNoDriverCall) {
  allocator_->Expect(MiB(36));
  EXPECT_TRUE(allocator_->Prepare());
  ExpectSound();
  const int64_t before = Calls();
  const Address address = Get(MiB(36));
  EXPECT_EQ(Calls(), before);
  driver_->Launch(kHome, address, MiB(36), 1);
  EXPECT_EQ(allocator_->Stats().by_way[static_cast<int>(Way::kReuse)].count, 1);
  EXPECT_EQ(allocator_->Stats().num_prepared_ranges, 1);
  EXPECT_EQ(allocator_->Stats().num_prepared_ranges_used, 1);
  allocator_->Free(address, kHome);
  EXPECT_EQ(Get(MiB(36)), address);
  EXPECT_EQ(allocator_->Stats().num_prepared_ranges_used, 1);
  ExpectSound();
}

TEST_F(AheadTest, WhatIsMissingIsMappedBehindWhatWasPrepared) {
  Open(With(MiB(100)));
  allocator_->Expect(MiB(56));
  ASSERT_TRUE(allocator_->Prepare());
  const DriverCallStats before = allocator_->Stats().driver_calls;
  const Address address = Get(MiB(56));
  const DriverCallStats after = allocator_->Stats().driver_calls;
  EXPECT_EQ(after.create - before.create, after.map - before.map - (after.create - before.create));
  EXPECT_EQ(after.reserve, before.reserve);
  EXPECT_EQ(allocator_->Stats().num_prepared_ranges_used, 1);
  driver_->Launch(kHome, address, MiB(56), 1);
  ExpectSound();
}

TEST_F(AheadTest, ItTakesNoMemoryAndCountsWhatItDoes) {
  const AllocatorStats before = allocator_->Stats();
  allocator_->Expect(MiB(36));
  ASSERT_TRUE(allocator_->Prepare());
  const AllocatorStats after = allocator_->Stats();
  EXPECT_EQ(after.bytes_reserved, before.bytes_reserved);
  EXPECT_EQ(after.bytes_in_use, before.bytes_in_use);
  EXPECT_EQ(after.driver_calls.create, before.driver_calls.create);
  EXPECT_EQ(after.driver_calls.map, before.driver_calls.map + 18);
  EXPECT_EQ(after.driver_calls.reserve, before.driver_calls.reserve + 1);
  EXPECT_EQ(after.bytes_mapped, before.bytes_mapped + MiB(36));
  EXPECT_EQ(allocator_->TakeSnapshot().mappings.size(), static_cast<size_t>(driver_->num_mappings()));
}

TEST_F(AheadTest, ThereIsNothingToDoWithoutAnExpectation) {
  EXPECT_FALSE(allocator_->Prepare());
  allocator_->Expect(Bytes(-1));
  allocator_->Expect(KiB(1));
  allocator_->Expect(MiB(81));
  EXPECT_FALSE(allocator_->Prepare());
}

TEST_F(AheadTest, ASizeIsPreparedOnce) {
  allocator_->Expect(MiB(36));
  EXPECT_TRUE(allocator_->Prepare());
  EXPECT_FALSE(allocator_->Prepare());
  allocator_->Expect(MiB(36));
  EXPECT_FALSE(allocator_->Prepare());
}

TEST_F(AheadTest, WhatHasRoomAlreadyIsLeftAlone) {
  for (Bytes size : {MiB(8), MiB(4)}) {
    allocator_->Expect(size);
    EXPECT_FALSE(allocator_->Prepare());
  }
  allocator_->Free(Get(MiB(36)), kHome);
  allocator_->Expect(MiB(36));
  allocator_->Expect(MiB(34));
  EXPECT_FALSE(allocator_->Prepare());
}

// A single free block: mapping it again saves nothing. All that is missing is at the tail: it grows there.
TEST_F(AheadTest, WhatSavesNothingIsNotMapped) {
  Get(MiB(38));
  allocator_->Expect(MiB(4));
  EXPECT_FALSE(allocator_->Prepare());
  Open(With(GiB(1)));
  Get(MiB(40));
  allocator_->Free(Get(MiB(128)), kHome);
  allocator_->Expect(MiB(140));
  EXPECT_FALSE(allocator_->Prepare());
  const DriverCallStats before = allocator_->Stats().driver_calls;
  Get(MiB(140));
  const DriverCallStats after = allocator_->Stats().driver_calls;
  EXPECT_EQ(after.map - before.map, after.create - before.create);
}

TEST_F(AheadTest, WhatIsNotFreeYetIsLookedAtAgainWhenSomethingCameFree) {
  const Address all = Get(MiB(40));
  allocator_->Expect(MiB(30));
  EXPECT_FALSE(allocator_->Prepare());
  EXPECT_FALSE(allocator_->Prepare());
  allocator_->Free(kept_[0], kHome);
  allocator_->Free(kept_[2], kHome);
  EXPECT_TRUE(allocator_->Prepare());
  allocator_->Free(all, kHome);
  ExpectSound();
}

TEST_F(AheadTest, TheBudgetOfMappingsHolds) {
  Open(With(MiB(80), {/*mappings=*/4, /*bytes=*/GiB(1)}));
  allocator_->Expect(MiB(36));
  EXPECT_FALSE(allocator_->Prepare());
  Open(With(MiB(80), {/*mappings=*/100, /*bytes=*/MiB(35)}));
  allocator_->Expect(MiB(36));
  EXPECT_FALSE(allocator_->Prepare());
}

// What nobody asks for does not pile up. A range that was used stays.
TEST_F(AheadTest, OnlyTheLatestUnusedRangesAreKept) {
  Open(With(GiB(1)));
  std::vector<Address> pieces;
  for (int i = 0; i < 100; ++i) pieces.push_back(Get(MiB(8)));
  for (int i = 0; i < 100; i += 2) allocator_->Free(pieces[i], kHome);
  const auto prepare = [&](int i) {
    allocator_->Expect(MiB(100 + 4 * i));
    EXPECT_TRUE(allocator_->Prepare());
  };
  prepare(0);
  const Address used = Get(MiB(100));
  allocator_->Free(used, kHome);
  for (int i = 1; i <= 20; ++i) prepare(i);
  EXPECT_EQ(allocator_->Stats().num_stitched_ranges, 21);
  driver_->SetCapturing(kHome, true);
  allocator_->Maintain();
  EXPECT_EQ(allocator_->Stats().num_stitched_ranges, 21);
  driver_->SetCapturing(kHome, false);
  allocator_->Maintain();
  EXPECT_EQ(allocator_->Stats().num_stitched_ranges, 17);
  EXPECT_EQ(Get(MiB(100)), used);
  const int64_t before = Calls();
  allocator_->Maintain();
  EXPECT_EQ(Calls(), before);
  ExpectSound();
}

TEST_F(AheadTest, NothingIsMappedDuringACapture) {
  allocator_->Expect(MiB(36));
  driver_->SetCapturing(kHome, true);
  EXPECT_FALSE(allocator_->Prepare());
  driver_->SetCapturing(kHome, false);
  EXPECT_TRUE(allocator_->Prepare());
}

TEST_F(AheadTest, NothingIsMappedWhileTheDeviceSleeps) {
  Open(With(MiB(80)), /*sleeps=*/true);
  allocator_->Expect(MiB(36));
  driver_->FinishAll();
  ASSERT_TRUE(allocator_->Sleep({}).ok());
  EXPECT_FALSE(allocator_->Prepare());
  ASSERT_TRUE(allocator_->Wake().ok());
  ExpectSound();
}

TEST_F(AheadTest, NothingIsMappedWhileOthersWaitToUnmap) {
  Open(With(MiB(80)), /*sleeps=*/true);
  driver_->Launch(kHome, kept_[0], MiB(8), 1);
  allocator_->Expect(MiB(36));
  int waits = 0;
  const auto prepare = [&] {
    ++waits;
    EXPECT_FALSE(allocator_->Prepare());
  };
  copier_->OnAwait(prepare);
  driver_->FinishAll();
  ASSERT_TRUE(allocator_->Sleep({}).ok());
  ASSERT_TRUE(allocator_->Wake().ok());
  EXPECT_EQ(waits, 1);
  driver_->Launch(kHome, kept_[0], MiB(8), 1);
  allocator_->Free(kept_[0], kHome);
  driver_->OnWait(prepare);
  allocator_->Trim(Bytes(0));
  EXPECT_EQ(waits, 2);
  driver_->OnWait(nullptr);
  ExpectSound();
}

// The pieces may be taken, freed and stitched by others all the while; only the range is not there yet.
TEST_F(AheadTest, RequestsMeanwhileTakeWhatTheyWant) {
  allocator_->Expect(MiB(36));
  Address other, stitched;
  EXPECT_TRUE(PrepareAnd([&] {
    other = Get(MiB(8));
    stitched = Get(MiB(30));
    EXPECT_EQ(allocator_->CheckInvariants(), "");
    EXPECT_EQ(allocator_->Stats().num_prepared_ranges, 0);
  }));
  driver_->Launch(kHome, other, MiB(8), 1);
  driver_->Launch(kHome, stitched, MiB(30), 2);
  ExpectSound();
  allocator_->Free(other, kHome);
  allocator_->Free(stitched, kHome);
  const int64_t before = Calls();
  driver_->Launch(kHome, Get(MiB(36)), MiB(36), 3);
  EXPECT_EQ(Calls(), before);
  ExpectSound();
}

// One at a time.
TEST_F(AheadTest, AnotherPreparationDoesNotBeginMeanwhile) {
  allocator_->Expect(MiB(30));
  allocator_->Expect(MiB(36));
  EXPECT_TRUE(PrepareAnd([&] { EXPECT_FALSE(allocator_->Prepare()); }));
  EXPECT_FALSE(allocator_->Prepare());  // 30 MiB fit into what was made for 36
}

// Where nobody may wait, the blocks stay; the trim after it gets them.
TEST_F(AheadTest, ATrimMeanwhileLeavesTheBlocksThatAreBeingMapped) {
  AllocatorOptions options = With(MiB(80));
  options.patience.for_mapping = kNotAtAll;
  Open(options, /*sleeps=*/true);
  driver_->FinishAll();
  allocator_->Maintain();
  allocator_->Expect(MiB(36));
  EXPECT_TRUE(PrepareAnd([&] {
    allocator_->Trim(Bytes(0));
    EXPECT_FALSE(allocator_->Sleep({}).ok());
  }));
  EXPECT_EQ(allocator_->Stats().bytes_reserved, MiB(76));
  ExpectSound();
  EXPECT_EQ(allocator_->Trim(Bytes(0)), MiB(36));
  ExpectSound();
}

// Does `action` in a second thread while a preparation is under way, and lets it end when the other is done, at the
// latest after `patience`. Whoever waits for the preparation has more than that, however busy the machine is.
class AheadThreadsTest : public AheadTest {
 protected:
  void SetUp() override { Open(Patient()); }

  static AllocatorOptions Patient() {
    AllocatorOptions options = With(MiB(80));
    options.patience.for_mapping = std::chrono::minutes(10);
    return options;
  }

  void PrepareBeside(const std::function<void()>& action, std::chrono::milliseconds patience = kShort) {
    std::promise<void> inside;
    std::thread other([&] {
      inside.get_future().wait();
      action();
      done_ = true;
    });
    EXPECT_TRUE(PrepareAnd([&] {
      inside.set_value();
      const auto end = std::chrono::steady_clock::now() + patience;
      while (!done_ && std::chrono::steady_clock::now() < end) std::this_thread::sleep_for(kPause);
      was_done_ = done_;
    }));
    other.join();
  }

  std::atomic<bool> done_{false};
  bool was_done_ = false;  // before the preparation was over
};

TEST_F(AheadThreadsTest, ATrimWaitsForTheMapping) {
  allocator_->Expect(MiB(36));
  PrepareBeside([&] { EXPECT_EQ(allocator_->Trim(Bytes(0)), MiB(40)); });
  EXPECT_FALSE(was_done_);
  EXPECT_EQ(allocator_->Stats().bytes_reserved, MiB(40));
  ExpectSound();
}

TEST_F(AheadThreadsTest, ALowerLimitWaitsForTheMapping) {
  allocator_->Expect(MiB(36));
  PrepareBeside([&] { EXPECT_TRUE(allocator_->SetLimit(MiB(40)).ok()); });
  ExpectSound();
}

TEST_F(AheadThreadsTest, SleepWaitsForTheMapping) {
  Open(Patient(), /*sleeps=*/true);
  driver_->FinishAll();
  allocator_->Expect(MiB(36));
  PrepareBeside([&] { EXPECT_TRUE(allocator_->Sleep({}).ok()); });
  EXPECT_FALSE(was_done_);
  EXPECT_EQ(driver_->memory_in_use(), Bytes(0));
  EXPECT_EQ(driver_->num_mappings(), 0);
  ASSERT_TRUE(allocator_->Wake().ok());
  ExpectSound();
}

TEST_F(AheadThreadsTest, WhoAsksForJustThatWaitsForItAndMapsNothing) {
  allocator_->Expect(MiB(36));
  PrepareBeside([&] { Get(MiB(36)); });
  EXPECT_FALSE(was_done_);
  EXPECT_EQ(allocator_->Stats().by_way[static_cast<int>(Way::kReuse)].count, 1);
  EXPECT_EQ(allocator_->Stats().by_way[static_cast<int>(Way::kStitch)].count, 0);
  ExpectSound();
}

TEST_F(AheadThreadsTest, ARequestWaitsBeforeItIsRefused) {
  allocator_->Expect(MiB(36));
  PrepareBeside([&] { EXPECT_FALSE(allocator_->Allocate(MiB(60), kHome).ok()); });
  EXPECT_FALSE(was_done_);
  ExpectSound();
}

TEST_F(AheadThreadsTest, AnyOtherRequestDoesNotWait) {
  allocator_->Expect(MiB(36));
  PrepareBeside([&] { Get(MiB(8)); }, kLong);
  EXPECT_TRUE(was_done_);
  ExpectSound();
}

TEST_F(AheadTest, AFailedMappingLeavesNothing) {
  for (const char* name : {"map", "set access", "reserve"}) {
    Open(With(MiB(80)));
    const int64_t mappings = driver_->num_mappings(), ranges = driver_->num_reservations();
    allocator_->Expect(MiB(36));
    driver_->FailNamed(name, 0, 100, StatusCode::kDriverError);
    allocator_->Prepare();
    driver_->StopFailing();
    EXPECT_EQ(allocator_->Stats().num_prepared_ranges, 0);
    EXPECT_EQ(driver_->num_mappings(), mappings) << name;
    EXPECT_EQ(driver_->num_reservations(), ranges) << name;
    ExpectSound();
    driver_->Launch(kHome, Get(MiB(36)), MiB(36), 1);
    ExpectSound();
  }
}

// Opening the 18 mappings fails, and then the last of them will not come off: its block can be used, but never given
// back.
TEST_F(AheadTest, WhatCannotBeUndoneIsKeptAndCounted) {
  const int64_t mappings = driver_->num_mappings();
  allocator_->Expect(MiB(36));
  driver_->FailCalls(/*first=*/20, /*count=*/2, StatusCode::kDriverError);
  EXPECT_TRUE(allocator_->Prepare());
  driver_->StopFailing();
  EXPECT_EQ(driver_->num_failed_unmaps(), 1);
  EXPECT_EQ(driver_->num_mappings(), mappings + 1);
  EXPECT_EQ(allocator_->TakeSnapshot().mappings.size(), static_cast<size_t>(driver_->num_mappings()));
  allocator_->Free(Get(MiB(40)), kHome);
  driver_->FinishAll();
  EXPECT_EQ(allocator_->Trim(Bytes(0)), MiB(38));
  ExpectSound();
}

}  // namespace
}  // namespace gmlake
