#include "cc/pjrt/devices/trim_policy.h"

#include <gtest/gtest.h>

namespace gmlake {
namespace {

using std::chrono::seconds;

class TrimPolicyTest : public testing::Test {
 protected:
  // One second later: `peak` was needed in it, `reserved` is held, the device has `free`.
  std::optional<Bytes> Second(Bytes peak, Bytes reserved, std::optional<Bytes> free) {
    now_ += seconds(1);
    return policy_.Observe(now_, {++requests_, peak, reserved}, free);
  }
  std::optional<Bytes> QuietSecond(Bytes reserved) {
    now_ += seconds(1);
    return policy_.Observe(now_, {requests_, Bytes(0), reserved}, GiB(100));
  }

  TrimPolicy policy_{seconds(3), GiB(4)};
  TrimPolicy::Time now_{};
  int64_t requests_ = 0;
};

TEST_F(TrimPolicyTest, LooksOnceASecond) {
  EXPECT_TRUE(policy_.IsDue(now_));
  Second(GiB(1), GiB(1), std::nullopt);
  EXPECT_FALSE(policy_.IsDue(now_));
  EXPECT_TRUE(policy_.IsDue(now_ + seconds(1)));
}

TEST_F(TrimPolicyTest, WithRoomOnTheDeviceNothingGoes) {
  for (int i = 0; i < 30; ++i) EXPECT_FALSE(Second(GiB(1), GiB(80), GiB(5)).has_value());
}

TEST_F(TrimPolicyTest, ASlabOfEveryStepStaysHoweverFullTheDeviceIs) {
  for (int i = 0; i < 30; ++i) EXPECT_FALSE(Second(GiB(100), GiB(100), GiB(1)).has_value());
}

TEST_F(TrimPolicyTest, WhatWasNotNeededForTenSecondsGoesAsFarAsOthersNeedIt) {
  Second(GiB(100), GiB(100), GiB(1));
  for (int i = 0; i < 9; ++i) EXPECT_FALSE(Second(GiB(20), GiB(100), GiB(1)).has_value()) << i;
  EXPECT_EQ(Second(GiB(20), GiB(100), GiB(1)), GiB(97));  // four free again
  EXPECT_EQ(Second(GiB(99), GiB(100), GiB(1)), GiB(99));  // but nothing that was needed
}

TEST_F(TrimPolicyTest, AnUnknownDeviceIsNoReason) {
  for (int i = 0; i < 30; ++i) EXPECT_FALSE(Second(GiB(1), GiB(80), std::nullopt).has_value());
}

TEST_F(TrimPolicyTest, AQuietProgramGivesAllBackOnce) {
  Second(GiB(50), GiB(50), GiB(100));
  EXPECT_FALSE(QuietSecond(GiB(50)).has_value());
  EXPECT_FALSE(QuietSecond(GiB(50)).has_value());
  EXPECT_EQ(QuietSecond(GiB(50)), Bytes(0));
  EXPECT_FALSE(QuietSecond(GiB(10)).has_value());
  Second(GiB(50), GiB(50), GiB(100));
  for (int i = 0; i < 2; ++i) EXPECT_FALSE(QuietSecond(GiB(50)).has_value());
  EXPECT_EQ(QuietSecond(GiB(50)), Bytes(0));
}

TEST_F(TrimPolicyTest, WithoutATimeQuietIsNoReason) {
  TrimPolicy policy(seconds(0), GiB(4));
  for (int i = 0; i < 100; ++i) {
    now_ += seconds(1);
    EXPECT_FALSE(policy.Observe(now_, {0, Bytes(0), GiB(50)}, GiB(100)).has_value());
  }
}

}  // namespace
}  // namespace gmlake
