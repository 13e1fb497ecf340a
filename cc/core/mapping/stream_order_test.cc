#include "cc/core/mapping/stream_order.h"

#include <optional>
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

// Every query of its first event fails: a capture that began while the event was recorded does that to it.
class DriverWithABadEvent : public FakeDriver {
 public:
  using FakeDriver::FakeDriver;
  StatusOr<EventHandle> RecordEvent(StreamHandle stream) override {
    const StatusOr<EventHandle> event = FakeDriver::RecordEvent(stream);
    if (event.ok() && !bad_.has_value()) bad_ = event->value;
    return event;
  }
  StatusOr<bool> IsComplete(EventHandle event) override {
    if (event.value == bad_) return Status(StatusCode::kDriverError, "cuEventQuery: invalid");
    return FakeDriver::IsComplete(event);
  }

 private:
  std::optional<decltype(EventHandle::value)> bad_;
};

TEST(StreamOrderWithABadEventTest, AnEventThatCannotBeAskedForGivesWayToAnother) {
  DriverWithABadEvent driver{GiB(1)};
  StreamOrder order{&driver};
  ASSERT_TRUE(order.Acquire(kOwner).ok());
  driver.Order(kOwner, kOther);
  order.Poll(1);
  driver.FinishAll();
  order.Poll(1);
  EXPECT_EQ(order.proven(), 1);
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

TEST_F(StreamOrderTest, ACapturedStreamDoesNotBecomeOwnerAfterOneThatLeftWork) {
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
