// What happens to memory while the host framework records a graph. (On the emulated device, with graphs that are
// replayed: pattern_churn_test.cc. In random programs: program.cc.)
#include "cc/safety/bench.h"
#include "gtest/gtest.h"

namespace gmlake {
namespace {

class CaptureTest : public testing::Test {
 protected:
  void TearDown() override { EXPECT_EQ(bench_.shadow.Check(), ""); }

  AllocatorStats stats() { return bench_.allocator->Stats(); }

  Bench bench_{MiB(64)};
};

// No event can be recorded on a captured stream, so nobody else could be put behind the work that used the memory.
TEST_F(CaptureTest, WhatTheCapturedHomeStreamFreesServesThatStreamAlone) {
  ASSERT_TRUE(bench_.Get(MiB(8)).ok());
  const Address address = bench_.shadow[0].address;
  bench_.driver.SetCapturing(kOwner, true);
  bench_.Drop(0);
  EXPECT_EQ(bench_.Get(MiB(8), kOther).code(), StatusCode::kFailedPrecondition);
  ASSERT_TRUE(bench_.Get(MiB(8)).ok());
  EXPECT_EQ(bench_.shadow[0].address, address);
  bench_.Drop(0);
  bench_.driver.SetCapturing(kOwner, false);
  const int64_t waits = stats().num_stream_waits;
  EXPECT_TRUE(bench_.Get(MiB(8), kOther).ok());
  EXPECT_EQ(stats().num_stream_waits, waits + 1);
}

TEST_F(CaptureTest, WhatAnotherCapturedStreamFreesServesNobodyUntilTheCaptureEnds) {
  ASSERT_TRUE(bench_.Get(MiB(8), kOwner).ok());
  ASSERT_TRUE(bench_.Get(MiB(8), kOther).ok());
  const Address address = bench_.shadow[1].address;
  bench_.driver.SetCapturing(kOther, true);
  bench_.Drop(1, kOther);
  EXPECT_EQ(stats().bytes_pending, MiB(8));
  ASSERT_TRUE(bench_.Get(MiB(8)).ok());
  EXPECT_NE(bench_.shadow[1].address, address);
  bench_.allocator->Trim(Bytes(0));
  EXPECT_EQ(stats().bytes_reserved, MiB(24));
  bench_.driver.SetCapturing(kOther, false);
  bench_.allocator->Maintain();
  EXPECT_EQ(stats().bytes_pending, Bytes(0));
  ASSERT_TRUE(bench_.Get(MiB(8)).ok());
  EXPECT_EQ(bench_.shadow[2].address, address);
}

TEST_F(CaptureTest, ALimitBelowWhatIsHeldWaitsForTheEndOfTheCapture) {
  ASSERT_TRUE(bench_.Get(MiB(32)).ok());
  bench_.driver.SetCapturing(kOwner, true);
  bench_.Drop(0);
  EXPECT_EQ(bench_.allocator->SetLimit(MiB(16)).code(), StatusCode::kFailedPrecondition);
  EXPECT_EQ(stats().bytes_limit, MiB(64));
  bench_.driver.SetCapturing(kOwner, false);
  EXPECT_TRUE(bench_.allocator->SetLimit(MiB(16)).ok());
}

}  // namespace
}  // namespace gmlake
