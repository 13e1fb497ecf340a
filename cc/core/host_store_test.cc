// Page-locked host memory in chunks: how it is made in the background, ahead or while it is filled, how it is kept and
// given back, and what happens where the host has too little.

#include "cc/core/sleep/host_store.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "cc/core/allocator.h"
#include "cc/core/testing/testing_copier.h"
#include "cc/driver/fake_driver.h"
#include "gtest/gtest.h"

namespace gmlake {
namespace {

// Threads that make host memory wait here until it opens.
class Barrier {
 public:
  void Open() {
    const std::lock_guard<std::mutex> lock(mutex_);
    open_ = true;
    opened_.notify_all();
  }
  void Pass() {
    std::unique_lock<std::mutex> lock(mutex_);
    ++arrived_;
    opened_.notify_all();
    opened_.wait(lock, [&] { return open_; });
  }
  void AwaitArrival() {
    std::unique_lock<std::mutex> lock(mutex_);
    opened_.wait(lock, [&] { return arrived_ > 0; });
  }
  int arrived() {
    const std::lock_guard<std::mutex> lock(mutex_);
    return arrived_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable opened_;
  bool open_ = false;
  int arrived_ = 0;
};

class HostStoreTest : public testing::Test {
 protected:
  void AwaitAll() {
    for (int64_t chunk = 0; chunk < store_.count(); ++chunk) store_.Await(chunk).status().IgnoreError();
  }
  Bytes SumOfChunks() const {
    Bytes sum;
    for (int64_t chunk = 0; chunk < store_.count(); ++chunk) sum += store_.SizeOf(chunk);
    return sum;
  }

  FakeDriver driver_{GiB(1)};
  TestingCopier copier_{&driver_};
  Barrier barrier_;
  HostStore store_{&copier_};
};

TEST_F(HostStoreTest, MakesWhatIsAskedForAndNothingTwice) {
  ASSERT_TRUE(store_.Prepare(MiB(300)).ok());
  AwaitAll();
  EXPECT_EQ(SumOfChunks(), MiB(300));
  EXPECT_EQ(store_.bytes(), MiB(300));
  EXPECT_EQ(copier_.host_bytes(), MiB(300));
  ASSERT_TRUE(store_.Prepare(MiB(200)).ok());
  EXPECT_EQ(SumOfChunks(), MiB(300));
  ASSERT_TRUE(store_.Prepare(MiB(301)).ok());
  AwaitAll();
  EXPECT_EQ(store_.bytes(), MiB(302));  // in huge pages
  EXPECT_EQ(*store_.missing(), Bytes(0));
  store_.Clear();
  EXPECT_EQ(store_.bytes(), Bytes(0));
  EXPECT_EQ(copier_.host_bytes(), Bytes(0));
}

TEST_F(HostStoreTest, DoesNotWaitForWhatItMakes) {
  copier_.OnAllocate([&] { barrier_.Pass(); });
  ASSERT_TRUE(store_.Prepare(MiB(300)).ok());
  EXPECT_EQ(*store_.missing(), MiB(300));
  EXPECT_EQ(store_.bytes(), Bytes(0));
  barrier_.Open();
  AwaitAll();
  EXPECT_EQ(*store_.missing(), Bytes(0));
}

TEST_F(HostStoreTest, MoreMayBeWantedWhileSomeIsBeingMade) {
  copier_.OnAllocate([&] { barrier_.Pass(); });
  ASSERT_TRUE(store_.Prepare(MiB(300)).ok());
  ASSERT_TRUE(store_.Prepare(MiB(500)).ok());
  EXPECT_EQ(*store_.missing(), MiB(500));
  barrier_.Open();
  AwaitAll();
  EXPECT_EQ(store_.bytes(), MiB(500));
}

TEST_F(HostStoreTest, WhatNobodyHasBegunIsNotMadeAfterClear) {
  copier_.OnAllocate([&] { barrier_.Pass(); });
  ASSERT_TRUE(store_.Prepare(GiB(32)).ok());
  barrier_.AwaitArrival();
  std::thread opener([&] {
    while (store_.missing().ok()) std::this_thread::yield();
    barrier_.Open();
  });
  store_.Clear();
  opener.join();
  EXPECT_LE(barrier_.arrived(), 16);
  EXPECT_EQ(copier_.host_bytes(), Bytes(0));
}

TEST_F(HostStoreTest, AHostThatHasNotSoMuchSaysSoBeforeAnythingIsMade) {
  copier_.SetAvailable(MiB(500));
  EXPECT_EQ(store_.Prepare(MiB(300)).code(), StatusCode::kOutOfMemory);
  EXPECT_EQ(store_.count(), 0);
  ASSERT_TRUE(store_.Prepare(MiB(200)).ok());
  AwaitAll();
  EXPECT_EQ(store_.bytes(), MiB(200));
}

// Chunks that are still being made do not count as taken from the host.
TEST_F(HostStoreTest, WhatIsBeingMadeCountsAsNeeded) {
  copier_.OnAllocate([&] { barrier_.Pass(); });
  copier_.SetAvailable(MiB(1000));
  ASSERT_TRUE(store_.Prepare(MiB(600)).ok());
  EXPECT_EQ(store_.Prepare(MiB(800)).code(), StatusCode::kOutOfMemory);
  EXPECT_TRUE(store_.Prepare(MiB(700)).ok());
  barrier_.Open();
  AwaitAll();
  EXPECT_EQ(store_.bytes(), MiB(700));
}

TEST_F(HostStoreTest, WhatFailedIsSaidAndTriedAgain) {
  copier_.FailCall(1);
  ASSERT_TRUE(store_.Prepare(MiB(320)).ok());  // in chunks of one size, whichever it is that fails
  AwaitAll();
  EXPECT_EQ(store_.missing().status().message(), "scripted");
  EXPECT_EQ(store_.bytes(), MiB(320) - store_.SizeOf(0));
  ASSERT_TRUE(store_.Prepare(MiB(320)).ok());
  AwaitAll();
  EXPECT_EQ(*store_.missing(), Bytes(0));
  EXPECT_EQ(store_.bytes(), MiB(320));
}

TEST_F(HostStoreTest, WhatFailedIsTriedAgainWhileTheRestIsStillBeingMade) {
  std::atomic<int> calls{0};
  copier_.OnAllocate([&] {
    if (++calls > 1) barrier_.Pass();
  });
  copier_.FailCall(0);
  ASSERT_TRUE(store_.Prepare(MiB(640)).ok());
  while (store_.missing().ok()) std::this_thread::yield();
  ASSERT_TRUE(store_.Prepare(MiB(640)).ok());
  EXPECT_EQ(*store_.missing(), MiB(640));
  barrier_.Open();
  AwaitAll();
  EXPECT_EQ(store_.bytes(), MiB(640));
}

// Only a caller that asked before a failure hears of it.
TEST_F(HostStoreTest, WhatWasBegunForAnEarlierRequestAndFailsIsTriedAgain) {
  copier_.OnAllocate([&] { barrier_.Pass(); });
  copier_.FailCall(0);
  ASSERT_TRUE(store_.Prepare(MiB(64)).ok());
  barrier_.AwaitArrival();
  ASSERT_TRUE(store_.Prepare(MiB(64)).ok());
  barrier_.Open();
  AwaitAll();
  EXPECT_TRUE(copier_.failed());
  EXPECT_EQ(*store_.missing(), Bytes(0));
  EXPECT_EQ(store_.bytes(), MiB(64));
}

TEST_F(HostStoreTest, WhatFailsAfterItWasAskedBackIsNotTriedAgain) {
  copier_.OnAllocate([&] { barrier_.Pass(); });
  copier_.FailCall(0);
  const int threads = std::min(16, std::max(1, static_cast<int>(std::thread::hardware_concurrency())));
  ASSERT_TRUE(store_.Prepare(GiB(16)).ok());
  while (barrier_.arrived() < threads) std::this_thread::yield();
  ASSERT_TRUE(store_.Prepare(GiB(32)).ok());
  std::thread opener([&] {
    while (store_.missing().ok()) std::this_thread::yield();
    barrier_.Open();
  });
  store_.Clear();
  opener.join();
  EXPECT_TRUE(copier_.failed());
  EXPECT_EQ(barrier_.arrived(), threads);
  EXPECT_EQ(copier_.host_bytes(), Bytes(0));
}

class PrepareTest : public HostStoreTest {
 protected:
  Bytes OnHost() { return allocator_.Stats().bytes_on_host; }
  void AwaitPrepared() {
    while (*allocator_.Unprepared() > Bytes(0)) std::this_thread::yield();
  }

  Allocator allocator_{&driver_, {MiB(512), {}, {}, &copier_}};
};

TEST_F(PrepareTest, ASleepFindsWhatWasPrepared) {
  const StatusOr<Address> lease = allocator_.Allocate(MiB(100), StreamHandle{});
  copier_.Write(*lease, MiB(100), 1234567);
  ASSERT_TRUE(allocator_.PrepareSleep(std::nullopt).ok());
  AwaitPrepared();
  EXPECT_EQ(OnHost(), MiB(100));
  copier_.OnAllocate([] { ADD_FAILURE() << "there was enough"; });
  ASSERT_TRUE(allocator_.Sleep({}).ok());
  EXPECT_EQ(allocator_.PrepareSleep(MiB(10)).code(), StatusCode::kFailedPrecondition);
  ASSERT_TRUE(allocator_.Wake().ok());
  EXPECT_TRUE(copier_.Holds(*lease, MiB(100), 1234567));
}

TEST_F(PrepareTest, ASleepDoesNotWaitForWhatItDoesNotNeed) {
  ASSERT_TRUE(allocator_.Allocate(MiB(50), StreamHandle{}).ok());
  ASSERT_TRUE(allocator_.PrepareSleep(MiB(64)).ok());
  AwaitPrepared();
  copier_.OnAllocate([&] { barrier_.Pass(); });
  ASSERT_TRUE(allocator_.PrepareSleep(MiB(400)).ok());
  EXPECT_TRUE(allocator_.Sleep({}).ok());
  EXPECT_TRUE(allocator_.Wake().ok());
  EXPECT_EQ(*allocator_.Unprepared(), MiB(336));
  barrier_.Open();
  AwaitPrepared();
  EXPECT_EQ(OnHost(), MiB(400));
  allocator_.ReleaseHostStore();
  EXPECT_EQ(OnHost(), Bytes(0));
}

// The copies begin while host memory is being made, and wait for it chunk by chunk.
TEST_F(PrepareTest, ASleepGoesOnWithWhatIsBeingMade) {
  const StatusOr<Address> lease = allocator_.Allocate(MiB(300), StreamHandle{});
  copier_.Write(*lease, MiB(300), 42);
  copier_.OnAllocate([] { std::this_thread::sleep_for(std::chrono::milliseconds(5)); });
  ASSERT_TRUE(allocator_.PrepareSleep(MiB(200)).ok());
  ASSERT_TRUE(allocator_.Sleep({}).ok());
  EXPECT_EQ(OnHost(), MiB(300));
  ASSERT_TRUE(allocator_.Wake().ok());
  EXPECT_TRUE(copier_.Holds(*lease, MiB(300), 42));
}

TEST_F(PrepareTest, AnAllocatorMayEndWhileHostMemoryIsBeingMade) {
  TestingCopier copier(&driver_);
  copier.OnAllocate([] { std::this_thread::sleep_for(std::chrono::milliseconds(5)); });
  {
    Allocator allocator(&driver_, {MiB(512), {}, {}, &copier});
    ASSERT_TRUE(allocator.PrepareSleep(GiB(16)).ok());
  }
  EXPECT_EQ(copier.host_bytes(), Bytes(0));
}

TEST_F(PrepareTest, ADeviceWithoutACopierCannotPrepare) {
  Allocator allocator(&driver_, {MiB(64)});
  EXPECT_EQ(allocator.PrepareSleep(MiB(1)).code(), StatusCode::kNotSupported);
}

}  // namespace
}  // namespace gmlake
