#include "cc/pjrt/sleep_gate.h"

#include <gtest/gtest.h>

#include <memory>
#include <thread>

namespace gmlake {
namespace {

constexpr std::chrono::milliseconds kNow(0);
constexpr std::chrono::seconds kLong(10);

TEST(SleepGateTest, IsOpenUntilItIsClosedForADevice) {
  SleepGate gate;
  EXPECT_TRUE(SleepGate::Passage(&gate).all_open());
  EXPECT_TRUE(gate.Close(1, kNow));
  EXPECT_FALSE(SleepGate::Passage(&gate).all_open());
  EXPECT_TRUE(gate.is_closed(1));
  EXPECT_FALSE(gate.is_closed(0));
  gate.Open(1);
  EXPECT_TRUE(SleepGate::Passage(&gate).all_open());
}

TEST(SleepGateTest, DoesNotCloseWhileACallIsInProgress) {
  SleepGate gate;
  auto passage = std::make_unique<SleepGate::Passage>(&gate);
  EXPECT_FALSE(gate.Close(0, kNow));
  EXPECT_FALSE(gate.is_closed(0));
  passage.reset();
  EXPECT_TRUE(gate.Close(0, kNow));
}

TEST(SleepGateTest, WaitsForACallThatEndsInTime) {
  SleepGate gate;
  auto passage = std::make_unique<SleepGate::Passage>(&gate);
  std::thread caller([&] {
    while (!gate.is_closed(0)) std::this_thread::yield();
    passage.reset();
  });
  EXPECT_TRUE(gate.Close(0, kLong));
  caller.join();
}

}  // namespace
}  // namespace gmlake
