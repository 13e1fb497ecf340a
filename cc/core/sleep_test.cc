// Sleep and wake over the scripted driver: where contents lie, what is given back, what is refused, and what is left
// when one call fails, or every call from some point on.

#include <string>
#include <vector>

#include "cc/core/allocator.h"
#include "cc/core/testing/testing_copier.h"
#include "cc/driver/fake_driver.h"
#include "gtest/gtest.h"

namespace gmlake {
namespace {

const StreamHandle kOwner{reinterpret_cast<void*>(1)};
const StreamHandle kOther{reinterpret_cast<void*>(2)};
constexpr int32_t kDisposable = 7;

struct Held {
  Address address;
  Bytes size;
  uint64_t value;
};

// A device with everything on it that can be moved: primitive and stitched leases, slabs of the small pool, idle
// blocks.
class World {
 public:
  World() {
    std::vector<Held> pieces;
    for (int i = 0; i < 8; ++i) pieces.push_back(Get(MiB(12)));
    for (int i = 0; i < 8; ++i) {
      if (i % 2 == 0) {
        held_.push_back(pieces[i]);
      } else {
        Free(pieces[i]);
      }
    }
    stitched_ = Get(MiB(26));
    held_.push_back(stitched_);
    for (int i = 0; i < 3; ++i) held_.push_back(Get(KiB(64)));
    held_.push_back(Get(MiB(3)));
    Free(Get(MiB(6)));
  }

  Held Get(Bytes size) {
    const StatusOr<Address> address = allocator_.Allocate(size, kOwner);
    EXPECT_TRUE(address.ok()) << address.status().message();
    const Held held{*address, size, next_ += 1000000007};
    copier_.Write(held.address, held.size, held.value);
    return held;
  }
  void Free(const Held& held) { EXPECT_TRUE(allocator_.Free(held.address, kOwner)); }

  void ExpectIntact() {
    for (const Held& held : held_) {
      EXPECT_TRUE(copier_.Holds(held.address, held.size, held.value)) << ToString(held.size);
    }
    ExpectSound();
  }
  void ExpectSound() {
    EXPECT_EQ(allocator_.CheckInvariants(), "");
    EXPECT_EQ(driver_.violations(), std::vector<std::string>());
    const AllocatorStats stats = allocator_.Stats();
    EXPECT_EQ(stats.bytes_reserved, driver_.memory_in_use());
    EXPECT_LE(stats.bytes_reserved, stats.bytes_limit);
  }

  Status Sleep(SleepRequest request = {}) { return allocator_.Sleep(request).status(); }
  Status Wake() { return allocator_.Wake().status(); }

  FakeDriver driver_{GiB(4)};
  TestingCopier copier_{&driver_};
  Allocator allocator_{&driver_, {MiB(128), {}, {}, &copier_}};
  std::vector<Held> held_;
  Held stitched_{};
  uint64_t next_ = 0;
};

TEST(SleepTest, TheWorldHasAStitchedLease) {
  World world;
  EXPECT_GT(world.allocator_.Stats().by_way[static_cast<int>(Way::kStitch)].count, 0);
  world.ExpectIntact();
}

TEST(SleepTest, GivesAllMemoryBackAndKeepsEveryAddress) {
  World world;
  const int64_t reservations = world.driver_.num_reservations();
  const StatusOr<SleepReport> report = world.allocator_.Sleep({});
  ASSERT_TRUE(report.ok()) << report.status().message();
  EXPECT_TRUE(world.allocator_.IsAsleep());
  EXPECT_EQ(world.driver_.memory_in_use(), Bytes(0));
  EXPECT_EQ(world.driver_.num_mappings(), 0);
  EXPECT_EQ(world.driver_.num_blocks(), 0);
  EXPECT_EQ(world.driver_.num_reservations(), reservations);
  EXPECT_GE(report->copied, MiB(77));
  EXPECT_GE(report->given, report->copied);
  const AllocatorStats stats = world.allocator_.Stats();
  EXPECT_EQ(stats.bytes_reserved, Bytes(0));
  EXPECT_EQ(stats.bytes_mapped, Bytes(0));
  EXPECT_GE(stats.bytes_asleep, stats.bytes_in_use);
  EXPECT_EQ(stats.largest_servable, Bytes(0));
  EXPECT_EQ(world.allocator_.CheckInvariants(), "");
}

TEST(SleepTest, EveryByteIsBackUnderItsAddress) {
  World world;
  ASSERT_TRUE(world.Sleep().ok());
  ASSERT_TRUE(world.Wake().ok());
  EXPECT_FALSE(world.allocator_.IsAsleep());
  world.ExpectIntact();
}

// The address at home and the address in the stitched range lead to the same new block.
TEST(SleepTest, AliasesAreTheSameBytesAgain) {
  World world;
  ASSERT_TRUE(world.Sleep().ok());
  ASSERT_TRUE(world.Wake().ok());
  world.ExpectIntact();
  world.copier_.Write(world.stitched_.address, world.stitched_.size, 42);
  world.held_[4].value = 42;
  world.ExpectIntact();
  ASSERT_TRUE(world.Sleep().ok());
  ASSERT_TRUE(world.Wake().ok());
  world.ExpectIntact();
}

TEST(SleepTest, CanBeRepeatedAndServesInBetween) {
  World world;
  for (int round = 0; round < 5; ++round) {
    ASSERT_TRUE(world.Sleep().ok());
    ASSERT_TRUE(world.Wake().ok());
    world.ExpectIntact();
    world.Free(world.held_.back());
    world.held_.pop_back();
    world.held_.push_back(world.Get(MiB(2 + round)));
  }
}

TEST(SleepTest, ServesNothingWhileItSleeps) {
  World world;
  ASSERT_TRUE(world.Sleep().ok());
  const StatusOr<Address> refused = world.allocator_.Allocate(MiB(1), kOwner);
  EXPECT_EQ(refused.status().code(), StatusCode::kFailedPrecondition);
  EXPECT_NE(refused.status().message().find("asleep"), std::string::npos);
  EXPECT_EQ(world.Sleep().code(), StatusCode::kFailedPrecondition);
  world.allocator_.Maintain();
  EXPECT_EQ(world.allocator_.Trim(Bytes(0)), Bytes(0));
  ASSERT_TRUE(world.Wake().ok());
  world.held_.push_back(world.Get(MiB(1)));
  world.ExpectIntact();
}

TEST(SleepTest, WakingWhatIsAwakeDoesNothing) {
  World world;
  const int64_t calls = world.driver_.num_calls();
  EXPECT_TRUE(world.Wake().ok());
  EXPECT_EQ(world.driver_.num_calls(), calls);
}

TEST(SleepTest, WhatIsFreedMeanwhileNeedsNoMemoryAfterwards) {
  World world;
  const Bytes before = world.driver_.memory_in_use();
  ASSERT_TRUE(world.Sleep().ok());
  world.Free(world.stitched_);
  world.Free(world.held_[0]);
  world.held_.erase(world.held_.begin() + 4);
  world.held_.erase(world.held_.begin());
  ASSERT_TRUE(world.Wake().ok());
  EXPECT_LE(world.driver_.memory_in_use(), before - MiB(24));
  world.ExpectIntact();
  world.held_.push_back(world.Get(MiB(30)));
  world.ExpectIntact();
}

TEST(SleepTest, EverythingFreedMeanwhileLeavesAnEmptyDevice) {
  World world;
  ASSERT_TRUE(world.Sleep().ok());
  for (const Held& held : world.held_) world.Free(held);
  world.held_.clear();
  ASSERT_TRUE(world.Wake().ok());
  EXPECT_EQ(world.driver_.memory_in_use(), Bytes(0));
  world.held_.push_back(world.Get(MiB(100)));
  world.ExpectIntact();
}

TEST(SleepTest, DisposableContentsAreNotCopiedAndComeBackAsZeros) {
  World world;
  Held small = world.held_[5];
  ASSERT_EQ(small.size, KiB(64));
  for (const Held& held : {world.held_[0], world.stitched_, small}) {
    ASSERT_TRUE(world.allocator_.Tag(held.address, kDisposable));
  }
  ASSERT_TRUE(world.allocator_.Tag(world.held_[1].address, kDisposable + 1));
  SleepRequest request;
  request.dropped_tags = {kDisposable};
  const StatusOr<SleepReport> report = world.allocator_.Sleep(request);
  ASSERT_TRUE(report.ok());
  EXPECT_EQ(report->dropped, MiB(38) + KiB(64));
  EXPECT_LT(report->copied, MiB(44));
  ASSERT_TRUE(world.Wake().ok());
  for (const Held& held : {world.held_[0], world.stitched_, small}) {
    EXPECT_TRUE(world.copier_.IsZero(held.address, held.size)) << ToString(held.size);
  }
  for (size_t dropped : {5, 4, 0}) world.held_.erase(world.held_.begin() + static_cast<int64_t>(dropped));
  world.ExpectIntact();
}

TEST(SleepTest, ATagEndsWithItsLease) {
  World world;
  ASSERT_TRUE(world.allocator_.Tag(world.held_.back().address, kDisposable));
  world.Free(world.held_.back());
  EXPECT_FALSE(world.allocator_.Tag(world.held_.back().address, kDisposable));
  world.held_.back() = world.Get(MiB(3));
  SleepRequest request;
  request.dropped_tags = {kDisposable};
  ASSERT_EQ(world.allocator_.Sleep(request)->dropped, Bytes(0));
  ASSERT_TRUE(world.Wake().ok());
  world.ExpectIntact();
}

TEST(SleepTest, WhatSleepsCanBeReadFromTheHost) {
  World world;
  ASSERT_TRUE(world.allocator_.Tag(world.held_[0].address, kDisposable));
  std::vector<char> bytes(static_cast<size_t>(world.stitched_.size.count()));
  EXPECT_FALSE(world.allocator_.ReadAsleep(world.stitched_.address, world.stitched_.size, bytes.data()));
  SleepRequest request;
  request.dropped_tags = {kDisposable};
  ASSERT_TRUE(world.allocator_.Sleep(request).ok());
  EXPECT_FALSE(world.allocator_.ReadAsleep(world.stitched_.address + Bytes(256), MiB(1), bytes.data()));
  EXPECT_FALSE(world.allocator_.ReadAsleep(world.stitched_.address, world.stitched_.size + MiB(2), bytes.data()));
  for (const Held& held : world.held_) {
    ASSERT_TRUE(world.allocator_.ReadAsleep(held.address, held.size, bytes.data()));
    const bool dropped = held.address == world.held_[0].address;
    for (Bytes at(0); at < held.size; at += TestingCopier::kPage) {
      uint64_t value = 0;
      std::memcpy(&value, bytes.data() + at.count(), sizeof(value));
      ASSERT_EQ(value, dropped ? 0 : held.value + static_cast<uint64_t>(at.count()));
    }
  }
}

TEST(SleepTest, IsRefusedWhileWorkIsQueued) {
  World world;
  const Held& held = world.held_[0];
  world.driver_.Launch(kOwner, held.address, held.size);
  world.copier_.OnCopy([] { FAIL() << "copied under work"; });
  const Status refused = world.Sleep();
  EXPECT_EQ(refused.code(), StatusCode::kFailedPrecondition);
  EXPECT_NE(refused.message().find("queued"), std::string::npos);
  world.copier_.OnCopy({});
  world.driver_.FinishAll();
  ASSERT_TRUE(world.Sleep().ok());
  ASSERT_TRUE(world.Wake().ok());
  world.ExpectIntact();
}

TEST(SleepTest, IsRefusedDuringACapture) {
  World world;
  world.driver_.SetCapturing(kOwner, true);
  EXPECT_EQ(world.Sleep().code(), StatusCode::kFailedPrecondition);
  world.driver_.SetCapturing(kOwner, false);
  world.driver_.SetCapturing(kOther, true);
  EXPECT_TRUE(world.allocator_.Free(world.held_.back().address, kOther));
  world.held_.pop_back();
  EXPECT_EQ(world.Sleep().code(), StatusCode::kFailedPrecondition);  // a free that waits for the capture's end
  world.driver_.SetCapturing(kOther, false);
  EXPECT_FALSE(world.Sleep().ok());  // the free is queued now
  world.driver_.FinishAll();
  EXPECT_TRUE(world.Sleep().ok());
  EXPECT_TRUE(world.Wake().ok());
  world.ExpectIntact();
}

TEST(SleepTest, ADeviceWithoutACopierCannotSleep) {
  FakeDriver driver(GiB(1));
  Allocator allocator(&driver, {MiB(64)});
  EXPECT_EQ(allocator.Sleep({}).status().code(), StatusCode::kNotSupported);
  EXPECT_TRUE(allocator.Wake().ok());
}

TEST(SleepTest, AHostThatIsFullChangesNothing) {
  World world;
  world.copier_.SetAvailable(MiB(300));
  const Status refused = world.Sleep();
  EXPECT_EQ(refused.code(), StatusCode::kOutOfMemory);
  EXPECT_FALSE(world.allocator_.IsAsleep());
  EXPECT_EQ(world.copier_.host_bytes(), Bytes(0));
  world.ExpectIntact();
}

TEST(SleepTest, ADeviceThatIsFullSleepsOn) {
  World world;
  ASSERT_TRUE(world.Sleep().ok());
  world.driver_.SetForeignMemory(GiB(4) - MiB(50));
  EXPECT_EQ(world.Wake().code(), StatusCode::kOutOfMemory);
  EXPECT_TRUE(world.allocator_.IsAsleep());
  EXPECT_EQ(world.driver_.memory_in_use(), Bytes(0));
  world.driver_.SetForeignMemory(Bytes(0));
  ASSERT_TRUE(world.Wake().ok());
  world.ExpectIntact();
}

TEST(SleepTest, ALimitThatWasLoweredMeanwhileIsKept) {
  World world;
  ASSERT_TRUE(world.Sleep().ok());
  ASSERT_TRUE(world.allocator_.SetLimit(MiB(40)).ok());
  EXPECT_EQ(world.Wake().code(), StatusCode::kFailedPrecondition);
  ASSERT_TRUE(world.allocator_.SetLimit(MiB(128)).ok());
  ASSERT_TRUE(world.Wake().ok());
  world.ExpectIntact();
}

TEST(SleepTest, HostMemoryIsKeptForTheNextTimeUntilItIsAskedFor) {
  World world;
  ASSERT_TRUE(world.Sleep().ok());
  const Bytes first = world.copier_.host_bytes();
  EXPECT_EQ(world.allocator_.Stats().bytes_on_host, first);
  world.allocator_.ReleaseHostStore();  // it is needed now
  EXPECT_EQ(world.copier_.host_bytes(), first);
  ASSERT_TRUE(world.Wake().ok());
  ASSERT_TRUE(world.Sleep().ok());
  EXPECT_EQ(world.copier_.host_bytes(), first);
  ASSERT_TRUE(world.Wake().ok());
  world.allocator_.ReleaseHostStore();
  EXPECT_EQ(world.copier_.host_bytes(), Bytes(0));
  ASSERT_TRUE(world.Sleep().ok());
  ASSERT_TRUE(world.Wake().ok());
  world.ExpectIntact();
}

// XLA frees buffers on its own threads at any time.
TEST(SleepTest, LeasesMayEndWhileTheirBytesAreCopied) {
  World world;
  const Held gone = world.held_.back();
  world.held_.pop_back();
  bool freed = false;
  const auto free = [&] {
    if (!freed) world.Free(gone);
    freed = true;
  };
  world.copier_.OnCopy(free);
  ASSERT_TRUE(world.Sleep().ok());
  world.copier_.OnCopy({});
  ASSERT_TRUE(freed);
  EXPECT_EQ(world.allocator_.CheckInvariants(), "");
  ASSERT_TRUE(world.Wake().ok());
  world.ExpectIntact();
}

// Both release the lock while they wait for the device, which may be asleep when they go on.
TEST(SleepTest, ATrimThatWaitedFindsTheDeviceAsleep) {
  World world;
  const Held work = world.Get(MiB(12));
  world.driver_.Launch(kOwner, work.address, work.size);
  world.Free(work);
  bool slept = false;
  world.driver_.OnWait([&] {
    if (slept) return;
    slept = true;
    world.driver_.FinishAll();
    EXPECT_TRUE(world.Sleep().ok());
  });
  world.allocator_.Trim(Bytes(0));
  world.driver_.OnWait({});
  ASSERT_TRUE(slept);
  world.ExpectSound();
  ASSERT_TRUE(world.Wake().ok());
  world.ExpectIntact();
}

TEST(SleepTest, AnAllocatorMayEndWhileItSleeps) {
  World world;
  ASSERT_TRUE(world.Sleep().ok());
  EXPECT_EQ(world.driver_.memory_in_use(), Bytes(0));
}

// A mapping that the driver once refused to unmap stays, and so do the bytes under it.
TEST(SleepTest, WhatIsInQuarantineStaysWhereItIs) {
  World world;
  world.driver_.FailNamed("unmap", 0, 1, StatusCode::kDriverError);
  world.allocator_.Trim(Bytes(0));
  world.driver_.StopFailing();
  const Bytes stuck = world.allocator_.Stats().bytes_quarantined;
  ASSERT_TRUE(world.Sleep().ok());
  EXPECT_GE(world.driver_.memory_in_use(), stuck);
  ASSERT_TRUE(world.Wake().ok());
  world.ExpectIntact();
}

// After a failure the device is awake and as it was, or asleep with all contents saved. In the end all bytes are there.
void ExpectToRecover(World* world) {
  world->driver_.StopFailing();
  world->copier_.FailCall(-1);
  world->ExpectSound();
  if (world->allocator_.IsAsleep()) {
    const Status awake = world->Wake();
    ASSERT_TRUE(awake.ok()) << awake.message();
  }
  world->ExpectIntact();
  ASSERT_TRUE(world->Sleep().ok());
  ASSERT_TRUE(world->Wake().ok());
  world->held_.push_back(world->Get(MiB(5)));
  world->ExpectIntact();
}

enum class Step { kSleep, kWake };

Status Do(Step step, World* world) { return step == Step::kSleep ? world->Sleep() : world->Wake(); }

void Prepare(Step step, World* world) {
  if (step == Step::kWake) {
    ASSERT_TRUE(world->Sleep().ok());
  }
}

class FaultSweep : public testing::TestWithParam<Step> {};

TEST_P(FaultSweep, AnyOneDriverCallMayFail) {
  for (int64_t call = 0;; ++call) {
    SCOPED_TRACE(call);
    World world;
    Prepare(GetParam(), &world);
    const int64_t failed = world.driver_.num_failed();
    world.driver_.FailCalls(call, 1, StatusCode::kDriverError);
    const Status status = Do(GetParam(), &world);
    if (world.driver_.num_failed() == failed) {
      EXPECT_TRUE(status.ok());
      ASSERT_GT(call, 10) << "hardly anything was tried";
      return;
    }
    ExpectToRecover(&world);
    if (HasFailure()) return;
  }
}

TEST_P(FaultSweep, EveryDriverCallFromSomePointOnMayFail) {
  for (int64_t call = 0;; ++call) {
    SCOPED_TRACE(call);
    World world;
    Prepare(GetParam(), &world);
    const int64_t failed = world.driver_.num_failed();
    world.driver_.FailCalls(call, 1 << 20, StatusCode::kDriverError);
    const Status status = Do(GetParam(), &world);
    if (world.driver_.num_failed() == failed) {
      EXPECT_TRUE(status.ok());
      return;
    }
    ExpectToRecover(&world);
    if (HasFailure()) return;
  }
}

TEST_P(FaultSweep, AnyOneStepOfTheCopiesMayFail) {
  for (int64_t call = 0;; ++call) {
    SCOPED_TRACE(call);
    World world;
    Prepare(GetParam(), &world);
    world.copier_.FailCall(call);
    const Status status = Do(GetParam(), &world);
    if (!world.copier_.failed()) {
      EXPECT_TRUE(status.ok());
      ASSERT_GT(call, 2) << "hardly anything was tried";
      return;
    }
    EXPECT_FALSE(status.ok());
    EXPECT_EQ(world.allocator_.IsAsleep(), GetParam() == Step::kWake);
    ExpectToRecover(&world);
    if (HasFailure()) return;
  }
}

// A single failure before anything was released is undone completely.
TEST(SleepTest, AFailedUnmappingLeavesTheDeviceAwake) {
  for (int64_t skip = 0; skip < 3; ++skip) {
    World world;
    world.allocator_.Trim(Bytes(0));
    const int64_t mappings = world.driver_.num_mappings();
    world.driver_.FailNamed("unmap", skip, 1, StatusCode::kDriverError);
    const Status status = world.Sleep();
    if (status.ok()) {
      ASSERT_GT(skip, 0);
      return;
    }
    EXPECT_FALSE(world.allocator_.IsAsleep());
    EXPECT_EQ(world.driver_.num_mappings(), mappings);
    EXPECT_NE(status.message().find("nothing has changed"), std::string::npos);
    ExpectToRecover(&world);
  }
}

INSTANTIATE_TEST_SUITE_P(Both, FaultSweep, testing::Values(Step::kSleep, Step::kWake),
                         [](const auto& info) { return info.param == Step::kSleep ? "Sleep" : "Wake"; });

}  // namespace
}  // namespace gmlake
