#include "cc/core/mapping/stream_order.h"

#include <string>
#include <vector>

#include "cc/driver/fake_driver.h"
#include "gtest/gtest.h"

namespace gmlake {
namespace {

const StreamHandle kOwner{reinterpret_cast<void*>(1)};
const StreamHandle kOther{reinterpret_cast<void*>(2)};

class StreamOrderTest : public testing::Test {
 protected:
  StreamOrderTest() { EXPECT_TRUE(order_.Acquire(kOwner).ok()); }
  ~StreamOrderTest() override { EXPECT_EQ(driver_.violations(), std::vector<std::string>()); }

  void QueueWork() { driver_.Order(kOwner, kOther); }

  FakeDriver driver_{GiB(1)};
  StreamOrder order_{&driver_};
};

TEST_F(StreamOrderTest, WhatIsCompleteIsProven) {
  QueueWork();
  order_.Poll(1);
  EXPECT_EQ(order_.proven(), 0);
  driver_.FinishAll();
  order_.Poll(1);
  EXPECT_EQ(order_.proven(), 1);
}

// An event can be spoilt for good: by a capture that began while it was recorded, say.
TEST_F(StreamOrderTest, AnEventThatCannotBeAskedForGivesWayToAnother) {
  QueueWork();
  driver_.FailNamed("query event", 0, 1, StatusCode::kDriverError);
  order_.Poll(1);
  driver_.FinishAll();
  order_.Poll(1);
  EXPECT_EQ(order_.proven(), 1);
}

TEST_F(StreamOrderTest, AnEventThatCannotBeWaitedForGivesWayToTheDevice) {
  QueueWork();
  StatusOr<Fence> fence = order_.Record(1);
  ASSERT_TRUE(fence.ok());
  driver_.FailNamed("wait on host", 0, 1, StatusCode::kDriverError);
  EXPECT_TRUE(order_.Wait(&*fence).ok());
  order_.Prove(*fence);
  EXPECT_EQ(order_.proven(), 1);
}

TEST_F(StreamOrderTest, WithoutAnOwnerAFenceIsTheEndThatTheLastOneLeft) {
  QueueWork();
  ASSERT_TRUE(order_.Retire(kOwner).ok());
  driver_.DestroyStream(kOwner);
  order_.Poll(1);
  EXPECT_EQ(order_.proven(), 0);
  driver_.FinishAll();
  order_.Poll(1);
  EXPECT_EQ(order_.proven(), 1);
}

TEST_F(StreamOrderTest, ACapturedStreamDoesNotBecomeHomeAfterOneThatLeftWork) {
  ASSERT_TRUE(order_.Retire(kOwner).ok());
  driver_.SetCapturing(kOther, true);
  EXPECT_EQ(order_.Acquire(kOther).code(), StatusCode::kFailedPrecondition);
  driver_.SetCapturing(kOther, false);
  EXPECT_TRUE(order_.Acquire(kOther).ok());
}

TEST_F(StreamOrderTest, AnEndThatCannotBeWaitedForIsADebt) {
  ASSERT_TRUE(order_.Retire(kOwner).ok());
  driver_.FailNamed("wait on stream", 0, 1, StatusCode::kDriverError);
  EXPECT_EQ(order_.Acquire(kOther).code(), StatusCode::kFailedPrecondition);
  EXPECT_TRUE(order_.has_debts());
  StatusOr<Fence> fence = order_.Record(1);
  ASSERT_TRUE(fence.ok());
  ASSERT_TRUE(order_.Wait(&*fence).ok());
  order_.Prove(*fence);
  EXPECT_FALSE(order_.has_debts());
  EXPECT_TRUE(order_.Acquire(kOther).ok());
}

}  // namespace
}  // namespace gmlake
