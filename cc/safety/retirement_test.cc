// Streams that go: with work queued, in a capture, with frees that nobody could order. Whoever gets the memory next
// comes after that work, and nothing waits that need not.

#include <atomic>
#include <thread>

#include "cc/safety/bench.h"
#include "gtest/gtest.h"

namespace gmlake {
namespace {

TEST(Retirement, OfTheHomeStreamLetsTheNextOneWaitAndNotTheHost) {
  Bench bench;
  ASSERT_TRUE(bench.Get(MiB(32)).ok());
  ASSERT_TRUE(bench.Get(MiB(16)).ok());
  bench.Drop(0);
  bench.driver.OnWait([] { ADD_FAILURE() << "the host waits"; });
  EXPECT_TRUE(bench.allocator->RetireStream(kOwner).ok());
  bench.driver.DestroyStream(kOwner);
  EXPECT_TRUE(bench.Get(MiB(32), kOther).ok());
  bench.driver.OnWait(nullptr);
  bench.Drop(1, kOther);
  EXPECT_EQ(bench.allocator->Trim(Bytes(0)), MiB(32));
  EXPECT_EQ(bench.shadow.Check(), "");
}

// Only a wait for the device tells when that work is over; until one succeeds, its memory goes to nobody.
TEST(Retirement, InACaptureLendsNothingBeforeTheDeviceWasWaitedFor) {
  Bench bench;
  ASSERT_TRUE(bench.Get(MiB(32)).ok());
  bench.Drop(0);
  bench.driver.SetCapturing(kOwner, true);
  EXPECT_FALSE(bench.allocator->RetireStream(kOwner).ok());
  bench.driver.DestroyStream(kOwner);
  bench.driver.FailNamed("wait on device", 0, 100, StatusCode::kDriverError);
  EXPECT_EQ(bench.Get(MiB(32), kOther).code(), StatusCode::kFailedPrecondition);
  EXPECT_EQ(bench.allocator->Trim(Bytes(0)), Bytes(0));
  bench.driver.StopFailing();
  EXPECT_TRUE(bench.Get(MiB(32), kOther).ok());
  EXPECT_EQ(bench.shadow.Check(), "");
}

// Its frees are pending, so the same holds for them.
TEST(Retirement, OfAnotherStreamInACaptureSaysSoIfItHasFreedMemory) {
  Bench bench;
  ASSERT_TRUE(bench.Get(MiB(32)).ok());
  ASSERT_TRUE(bench.Get(MiB(32), kOther).ok());
  bench.driver.SetCapturing(kOther, true);
  EXPECT_TRUE(bench.allocator->RetireStream(StreamHandle{reinterpret_cast<void*>(77)}).ok());
  bench.Drop(1, kOther);
  EXPECT_EQ(bench.allocator->RetireStream(kOther).code(), StatusCode::kFailedPrecondition);
  bench.driver.DestroyStream(kOther);
  EXPECT_TRUE(bench.Get(MiB(32)).ok());
  EXPECT_EQ(bench.shadow.Check(), "");
}

// A small lease that ends leaves its slab in use, and so nothing that an unmap would have to wait for; order it needs
// all the same.
TEST(Retirement, OfTheHomeStreamOrdersSmallLeases) {
  for (Bytes size : {Bytes(1000), MiB(4)}) {
    Bench bench;
    ASSERT_TRUE(bench.Get(size).ok());
    ASSERT_TRUE(bench.Get(size).ok());
    bench.Drop(0);
    ASSERT_TRUE(bench.allocator->RetireStream(kOwner).ok());
    bench.driver.DestroyStream(kOwner);
    ASSERT_TRUE(bench.Get(size, kOther).ok());
    EXPECT_EQ(bench.shadow.Check(), "") << ToString(size);
  }
}

// Home alone was told to wait for the third stream.
TEST(Retirement, OfTheHomeStreamOrdersWhatAThirdStreamFreed) {
  Bench bench;
  ASSERT_TRUE(bench.Get(Bytes(1000)).ok());
  ASSERT_TRUE(bench.Get(Bytes(1000), kThird).ok());
  bench.Drop(1, kThird);
  ASSERT_TRUE(bench.allocator->RetireStream(kOwner).ok());
  bench.driver.DestroyStream(kOwner);
  ASSERT_TRUE(bench.Get(Bytes(1000), kOther).ok());
  EXPECT_EQ(bench.shadow.Check(), "");
}

// One home after another, each with work that nobody has waited for.
TEST(Retirement, OfManyHomesInARowKeepsTheOrder) {
  Bench bench;
  for (intptr_t stream = 1; stream <= 8; ++stream) {
    const StreamHandle home{reinterpret_cast<void*>(stream)};
    ASSERT_TRUE(bench.Get(MiB(4), home).ok());
    bench.Drop(0, home);
    ASSERT_TRUE(bench.allocator->RetireStream(home).ok());
    bench.driver.DestroyStream(home);
    EXPECT_EQ(bench.shadow.Check(), "");
  }
  EXPECT_EQ(bench.allocator->Trim(Bytes(0)), MiB(4));
  EXPECT_LE(bench.driver.num_events(), 1);
}

TEST(Retirement, EndsWhileAnotherThreadFreesAllTheTime) {
  Bench bench;
  std::atomic<bool> done{false};
  ASSERT_TRUE(bench.allocator->Allocate(MiB(4), kOwner).ok());
  std::thread other([&] {
    while (!done) {
      const StatusOr<Address> address = bench.allocator->Allocate(MiB(2), kOther);
      if (address.ok()) bench.allocator->Free(*address, kOther);
    }
  });
  for (intptr_t stream = 3; stream < 500; ++stream) {
    const StreamHandle handle{reinterpret_cast<void*>(stream)};
    const StatusOr<Address> address = bench.allocator->Allocate(MiB(2), handle);
    if (address.ok()) bench.allocator->Free(*address, handle);
    EXPECT_TRUE(bench.allocator->RetireStream(handle).ok());
  }
  EXPECT_TRUE(bench.allocator->RetireStream(kOwner).ok());
  done = true;
  other.join();
  EXPECT_EQ(bench.allocator->CheckInvariants(), "");
}

// A free on a stream that could be waited for, but home could not wait: it is being captured.
TEST(Retirement, OfAStreamWithAFreeThatIsPendingLosesNothing) {
  Bench bench;
  ASSERT_TRUE(bench.Get(MiB(2)).ok());
  ASSERT_TRUE(bench.Get(MiB(40), kOther).ok());
  bench.driver.SetCapturing(kOwner, true);
  bench.Drop(1, kOther);
  ASSERT_TRUE(bench.allocator->RetireStream(kOther).ok());
  bench.driver.DestroyStream(kOther);
  bench.allocator->Maintain();
  EXPECT_EQ(bench.allocator->Stats().bytes_pending, MiB(40));
  bench.driver.SetCapturing(kOwner, false);
  bench.allocator->Maintain();
  EXPECT_EQ(bench.allocator->Stats().bytes_pending, Bytes(0));
  EXPECT_TRUE(bench.Get(MiB(40)).ok());
  EXPECT_EQ(bench.shadow.Check(), "");
}

// Destroyed in its own capture: the request that needs the memory waits for the device.
TEST(Retirement, InACaptureOfItsOwnGivesStitchedMemoryBackLater) {
  Bench bench;
  bench.MakeHoles(MiB(8), 8);
  ASSERT_TRUE(bench.Get(MiB(32), kOther).ok());
  bench.driver.SetCapturing(kOther, true);
  bench.Drop(4, kOther);
  EXPECT_EQ(bench.allocator->RetireStream(kOther).code(), StatusCode::kFailedPrecondition);
  bench.driver.DestroyStream(kOther);
  EXPECT_EQ(bench.shadow.Check(), "");
  EXPECT_EQ(bench.allocator->Stats().bytes_pending, MiB(32));
  EXPECT_TRUE(bench.Get(MiB(32)).ok());
  EXPECT_EQ(bench.allocator->Stats().bytes_pending, Bytes(0));
  EXPECT_EQ(bench.shadow.Check(), "");
}

// Of two streams with the same name, one after the other, each has its own frees.
TEST(Retirement, AStreamWithTheNameOfOneThatWentIsAnotherStream) {
  Bench bench;
  ASSERT_TRUE(bench.Get(MiB(2)).ok());
  ASSERT_TRUE(bench.Get(MiB(16), kOther).ok());
  bench.driver.SetCapturing(kOther, true);
  bench.Drop(1, kOther);
  EXPECT_EQ(bench.allocator->RetireStream(kOther).code(), StatusCode::kFailedPrecondition);
  bench.driver.SetCapturing(kOther, false);
  ASSERT_TRUE(bench.allocator->RetireStream(kOther).ok());
  EXPECT_EQ(bench.allocator->Stats().bytes_pending, MiB(16)) << "its work may still be under way";
  bench.allocator->Trim(MiB(64));
  EXPECT_EQ(bench.allocator->Stats().bytes_pending, Bytes(0));
}

}  // namespace
}  // namespace gmlake
