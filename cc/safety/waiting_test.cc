// Nobody waits for the device with the allocator's lock in hand, and what came free during a wait is not taken for
// done.
//
// The fake driver calls back in the middle of a wait. There the tests do what another thread, or a host callback that
// runs on the stream that is waited for, would do; under a lock that would hang for ever.

#include <functional>
#include <string>
#include <vector>

#include "cc/safety/bench.h"
#include "gtest/gtest.h"

namespace gmlake {
namespace {

class WaitingTest : public testing::Test {
 protected:
  void TearDown() override {
    bench_.driver.OnWait(nullptr);
    EXPECT_EQ(bench_.shadow.Check(), "");
  }

  // Does `action` in the next wait for the device only.
  void InTheWait(std::function<void()> action) {
    bench_.driver.OnWait([this, action] {
      if (waits_++ == 0) action();
    });
  }

  Bench bench_{MiB(64)};
  int waits_ = 0;
};

TEST_F(WaitingTest, RequestsFreesAndStatisticsGoOnWhileATrimWaits) {
  ASSERT_TRUE(bench_.Get(MiB(16)).ok());
  ASSERT_TRUE(bench_.Get(MiB(16)).ok());
  bench_.Drop(0);
  InTheWait([this] {
    EXPECT_TRUE(bench_.Get(MiB(8)).ok());
    bench_.Drop(0);
    EXPECT_EQ(bench_.shadow.Check(), "");
  });
  bench_.allocator->Trim(Bytes(0));
  EXPECT_GE(waits_, 1);
  EXPECT_EQ(bench_.allocator->Stats().bytes_in_use, MiB(8));
}

TEST_F(WaitingTest, WhatComesFreeDuringAWaitIsNotUnmappedBeforeItsOwnWorkIsDone) {
  ASSERT_TRUE(bench_.Get(MiB(16)).ok());
  ASSERT_TRUE(bench_.Get(MiB(16)).ok());
  bench_.Drop(0);
  InTheWait([this] { bench_.Drop(0); });  // its work is queued behind the event that is waited for
  bench_.allocator->Trim(Bytes(0));
  EXPECT_TRUE(bench_.driver.violations().empty());
  EXPECT_EQ(bench_.allocator->Stats().bytes_reserved, Bytes(0));
}

TEST_F(WaitingTest, WhatIsLeasedAgainDuringAWaitStaysMapped) {
  ASSERT_TRUE(bench_.Get(MiB(16)).ok());
  bench_.Drop(0);
  InTheWait([this] { EXPECT_TRUE(bench_.Get(MiB(16)).ok()); });
  EXPECT_EQ(bench_.allocator->Trim(Bytes(0)), Bytes(0));
  EXPECT_EQ(bench_.allocator->Stats().bytes_in_use, MiB(16));
}

TEST_F(WaitingTest, ALowerLimitHoldsThoughRequestsCameInBetween) {
  ASSERT_TRUE(bench_.Get(MiB(32)).ok());
  bench_.Drop(0);
  InTheWait([this] { EXPECT_TRUE(bench_.Get(MiB(48)).ok()); });
  EXPECT_EQ(bench_.allocator->SetLimit(MiB(16)).code(), StatusCode::kFailedPrecondition);
  EXPECT_EQ(bench_.allocator->Stats().bytes_limit, MiB(64));
}

TEST_F(WaitingTest, ACaptureThatBeginsDuringAWaitKeepsEverythingMapped) {
  ASSERT_TRUE(bench_.Get(MiB(32)).ok());
  bench_.Drop(0);
  InTheWait([this] { bench_.driver.SetCapturing(kOwner, true); });
  EXPECT_EQ(bench_.allocator->Trim(Bytes(0)), Bytes(0));
  bench_.driver.SetCapturing(kOwner, false);
  EXPECT_EQ(bench_.allocator->Trim(Bytes(0)), MiB(32));
}

TEST(Maintenance, NeverWaitsAndReclaimsWhatIsDone) {
  Bench bench(MiB(64), {/*mappings=*/4, /*bytes=*/MiB(1)});
  bench.driver.OnWait([] { ADD_FAILURE() << "maintenance waits for the device"; });
  bench.MakeHoles(MiB(8), 8);
  ASSERT_TRUE(bench.Get(MiB(32)).ok());
  bench.Drop(4);
  bench.allocator->Maintain();
  bench.allocator->Maintain();
  EXPECT_EQ(bench.allocator->Stats().num_stitched_ranges, 1);  // its work is not over
  bench.driver.FinishAll();
  bench.allocator->Maintain();
  EXPECT_EQ(bench.allocator->Stats().num_stitched_ranges, 0);
  EXPECT_EQ(bench.shadow.Check(), "");
  bench.driver.OnWait(nullptr);
}

}  // namespace
}  // namespace gmlake
