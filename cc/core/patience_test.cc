// The last rung of the request ladder: waits for leases to end, and for memory that other processes hold.

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "cc/core/allocator.h"
#include "cc/core/testing/testing_copier.h"
#include "cc/driver/fake_driver.h"
#include "gtest/gtest.h"

namespace gmlake {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

const StreamHandle kOwner{reinterpret_cast<void*>(1)};
constexpr milliseconds kLong(20000);

class PatienceTest : public testing::Test {
 protected:
  AllocatorOptions With(milliseconds for_leases, milliseconds for_device) {
    AllocatorOptions options{MiB(128)};
    options.patience = {for_leases, for_device};
    return options;
  }

  static bool IsRefusedAfter(milliseconds wait, Allocator* allocator) {
    const auto start = steady_clock::now();
    EXPECT_FALSE(allocator->Allocate(MiB(100), kOwner).ok());
    return steady_clock::now() - start >= wait;
  }

  FakeDriver driver_{MiB(256)};
};

TEST_F(PatienceTest, ALeaseThatEndsInTimeServesTheNextRequest) {
  Allocator allocator(&driver_, With(kLong, milliseconds(0)));
  const Address first = *allocator.Allocate(MiB(100), kOwner);
  const auto start = steady_clock::now();
  std::thread late([&] {
    std::this_thread::sleep_for(milliseconds(30));
    allocator.Free(first, kOwner);
  });
  EXPECT_TRUE(allocator.Allocate(MiB(100), kOwner).ok());
  EXPECT_GE(steady_clock::now() - start, milliseconds(25));
  late.join();
  EXPECT_EQ(allocator.Stats().num_failures, 0);
  EXPECT_EQ(allocator.CheckInvariants(), "");
}

TEST_F(PatienceTest, HasAnEnd) {
  Allocator allocator(&driver_, With(milliseconds(30), kLong));
  ASSERT_TRUE(allocator.Allocate(MiB(100), kOwner).ok());
  const auto start = steady_clock::now();
  EXPECT_EQ(allocator.Allocate(MiB(100), kOwner).status().code(), StatusCode::kOutOfMemory);
  EXPECT_GE(steady_clock::now() - start, milliseconds(25));
  EXPECT_EQ(allocator.Stats().num_failures, 1);
}

TEST_F(PatienceTest, WhoWaitedInVainDoesNotWaitAgainUntilSomethingIsFreed) {
  Allocator allocator(&driver_, With(milliseconds(300), milliseconds(0)));
  ASSERT_TRUE(allocator.Allocate(MiB(100), kOwner).ok());
  const Address small = *allocator.Allocate(MiB(2), kOwner);
  EXPECT_FALSE(allocator.Allocate(MiB(100), kOwner).ok());
  int waits = 0;
  for (int i = 0; i < 20; ++i) waits += IsRefusedAfter(milliseconds(300), &allocator);
  EXPECT_LT(waits, 5);  // some may be held up by a busy machine
  allocator.Free(small, kOwner);
  EXPECT_TRUE(IsRefusedAfter(milliseconds(290), &allocator));
}

TEST_F(PatienceTest, WhatTheLimitNeverAllowsIsRefusedAtOnce) {
  Allocator allocator(&driver_, With(kLong, kLong));
  EXPECT_EQ(allocator.Allocate(MiB(129), kOwner).status().code(), StatusCode::kOutOfMemory);
}

TEST_F(PatienceTest, ADeviceThatOthersLeaveInTimeServes) {
  Allocator allocator(&driver_, With(milliseconds(0), kLong));
  driver_.SetForeignMemory(MiB(200));
  std::thread neighbour([&] {
    std::this_thread::sleep_for(milliseconds(30));
    driver_.SetForeignMemory(Bytes(0));
  });
  EXPECT_TRUE(allocator.Allocate(MiB(100), kOwner).ok());
  neighbour.join();
}

TEST_F(PatienceTest, WithoutBeingAskedNobodyWaitsForTheDevice) {
  Allocator allocator(&driver_, With(milliseconds(0), milliseconds(0)));
  driver_.SetForeignMemory(MiB(200));
  EXPECT_EQ(allocator.Allocate(MiB(100), kOwner).status().code(), StatusCode::kOutOfMemory);
}

// Another stream may still have work queued on memory that comes free while a request waits for it.
TEST_F(PatienceTest, WhatAWaiterGetsIsInOrderForItsStream) {
  const StreamHandle other{reinterpret_cast<void*>(2)};
  Allocator allocator(&driver_, With(kLong, milliseconds(0)));
  const Address first = *allocator.Allocate(MiB(100), kOwner);
  std::thread late([&] {
    std::this_thread::sleep_for(milliseconds(30));
    driver_.Launch(kOwner, first, MiB(100), /*owner=*/1);
    allocator.Free(first, kOwner);
  });
  const StatusOr<Address> second = allocator.Allocate(MiB(100), other);
  late.join();
  ASSERT_TRUE(second.ok());
  driver_.Launch(other, *second, MiB(100), /*owner=*/2);
  EXPECT_EQ(driver_.violations(), std::vector<std::string>());
}

TEST_F(PatienceTest, AWaiterNoticesThatTheDeviceFellAsleep) {
  TestingCopier copier(&driver_);
  AllocatorOptions options = With(kLong, milliseconds(0));
  options.copier = &copier;
  Allocator allocator(&driver_, options);
  ASSERT_TRUE(allocator.Allocate(MiB(100), kOwner).ok());
  const auto start = steady_clock::now();
  std::thread sleeper([&] {
    std::this_thread::sleep_for(milliseconds(30));
    EXPECT_TRUE(allocator.Sleep({}).ok());
  });
  EXPECT_FALSE(allocator.Allocate(MiB(100), kOwner).ok());
  EXPECT_LT(steady_clock::now() - start, kLong / 2);
  sleeper.join();
  EXPECT_EQ(driver_.memory_in_use(), Bytes(0));
}

// The request waits for queued work, so that a block can be cut; meanwhile another thread puts the device to sleep.
TEST_F(PatienceTest, WhoWaitedForTheDeviceNoticesThatItFellAsleep) {
  TestingCopier copier(&driver_);
  AllocatorOptions options = With(milliseconds(0), milliseconds(0));
  options.copier = &copier;
  options.thresholds.spare_per_seams = GiB(1).count();
  options.thresholds.request_per_own = 1;
  Allocator allocator(&driver_, options);
  const Address idle = *allocator.Allocate(MiB(32), kOwner);
  for (Bytes size : {MiB(32), MiB(32), MiB(28)}) ASSERT_TRUE(allocator.Allocate(size, kOwner).ok());
  driver_.Launch(kOwner, idle, MiB(32));
  allocator.Free(idle, kOwner);
  ASSERT_TRUE(allocator.Allocate(MiB(10), kOwner).ok());
  driver_.OnWait([&] {
    driver_.FinishAll();
    if (allocator.IsAsleep()) return;
    EXPECT_TRUE(allocator.Sleep({}).ok());
  });
  EXPECT_EQ(allocator.Allocate(MiB(10), kOwner).status().code(), StatusCode::kFailedPrecondition);
  EXPECT_TRUE(allocator.IsAsleep());
  EXPECT_EQ(driver_.memory_in_use(), Bytes(0));
}

// Stands for the host's handling of Ctrl-C.
struct Interrupts {
  std::atomic<int> watched = 0;
  std::atomic<int> ended = 0;
  std::atomic<bool> pending = false;

  std::function<InterruptCheck()> Watch() {
    return [this] {
      ++watched;
      const std::shared_ptr<Interrupts> watch(this, [](Interrupts* self) { ++self->ended; });
      return [watch] { return watch->pending.load(); };
    };
  }
};

// Refuses a request on a thread that has not waited yet.
Status RefusedOnAFreshThread(Allocator* allocator) {
  Status refused;
  std::thread([&] { refused = allocator->Allocate(MiB(100), kOwner).status(); }).join();
  return refused;
}

// A device that others have filled.
class InterruptedWaitTest : public PatienceTest {
 protected:
  InterruptedWaitTest() { driver_.SetForeignMemory(MiB(200)); }

  AllocatorOptions Watched(milliseconds for_leases, milliseconds for_device) {
    AllocatorOptions options = With(for_leases, for_device);
    options.patience.watch_interrupts = interrupts_.Watch();
    return options;
  }

  Interrupts interrupts_;
};

TEST_F(InterruptedWaitTest, AnInterruptEndsAWait) {
  Allocator allocator(&driver_, Watched(milliseconds(0), kLong));
  const auto start = steady_clock::now();
  std::thread user([&] {
    while (interrupts_.watched == 0 && steady_clock::now() - start < kLong) std::this_thread::yield();
    interrupts_.pending = true;
  });
  EXPECT_EQ(RefusedOnAFreshThread(&allocator).code(), StatusCode::kOutOfMemory);
  EXPECT_LT(steady_clock::now() - start, kLong / 2);
  user.join();
  EXPECT_EQ(interrupts_.watched, 1);
  EXPECT_EQ(interrupts_.ended, 1);
  driver_.SetForeignMemory(Bytes(0));
  EXPECT_TRUE(allocator.Allocate(MiB(100), kOwner).ok());
  EXPECT_EQ(interrupts_.watched, 1) << "a request that is served at once watches nothing";
  EXPECT_EQ(allocator.CheckInvariants(), "");
}

// XLA retries at once. One interrupt must suffice to end its waits.
TEST_F(InterruptedWaitTest, WhoWasInterruptedDoesNotWaitAgainAtOnce) {
  Allocator allocator(&driver_, Watched(milliseconds(0), kLong));
  const auto start = steady_clock::now();
  std::thread([&] {
    interrupts_.pending = true;
    EXPECT_FALSE(allocator.Allocate(MiB(100), kOwner).ok());
    interrupts_.pending = false;
    EXPECT_FALSE(allocator.Allocate(MiB(100), kOwner).ok());
  }).join();
  EXPECT_LT(steady_clock::now() - start, kLong / 2);
  EXPECT_EQ(interrupts_.watched, 1);
}

// Other threads may have asked before the interrupt and get the lock only now.
TEST_F(InterruptedWaitTest, AnInterruptEndsTheWaitsOfAllThreads) {
  interrupts_.pending = true;
  Allocator allocator(&driver_, Watched(milliseconds(0), kLong));
  EXPECT_FALSE(RefusedOnAFreshThread(&allocator).ok());
  interrupts_.pending = false;
  const auto start = steady_clock::now();
  EXPECT_FALSE(RefusedOnAFreshThread(&allocator).ok());
  EXPECT_LT(steady_clock::now() - start, kLong / 2);
}

// The check is the host's code, and may call the allocator.
TEST_F(InterruptedWaitTest, InterruptsAreAskedAboutWithoutTheLock) {
  AllocatorOptions options = With(milliseconds(0), kLong);
  const Allocator* asked = nullptr;
  int checks = 0;
  options.patience.watch_interrupts = [&] { return [&] { return ++checks + asked->Stats().num_allocs == 3; }; };
  Allocator allocator(&driver_, options);
  asked = &allocator;
  EXPECT_FALSE(RefusedOnAFreshThread(&allocator).ok());
  EXPECT_EQ(checks, 3);
}

TEST_F(InterruptedWaitTest, NobodyWatchesForInterruptsOfAShortWait) {
  Allocator allocator(&driver_, Watched(milliseconds(100), milliseconds(100)));
  const auto start = steady_clock::now();
  EXPECT_FALSE(RefusedOnAFreshThread(&allocator).ok());
  EXPECT_GE(steady_clock::now() - start, milliseconds(100));
  EXPECT_EQ(interrupts_.watched, 0);
}

TEST_F(PatienceTest, DemandIsThePeakSinceItWasLastAsked) {
  Allocator allocator(&driver_, With(milliseconds(0), milliseconds(0)));
  const Address large = *allocator.Allocate(MiB(64), kOwner);
  allocator.Free(large, kOwner);
  EXPECT_EQ(allocator.TakeDemand().peak, MiB(64));
  EXPECT_EQ(allocator.TakeDemand().peak, Bytes(0));
  const int64_t requests = allocator.TakeDemand().requests;
  ASSERT_TRUE(allocator.Allocate(MiB(2), kOwner).ok());
  EXPECT_EQ(allocator.TakeDemand().requests, requests + 1);
  EXPECT_GE(allocator.TakeDemand().reserved, MiB(64));
}

}  // namespace
}  // namespace gmlake
