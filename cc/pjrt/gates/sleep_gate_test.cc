#include "cc/pjrt/gates/sleep_gate.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <thread>

namespace gmlake {
namespace {

constexpr std::chrono::milliseconds kNow(0);
constexpr std::chrono::seconds kLong(10);

TEST(SleepGateTest, IsOpenUntilItIsClosedForADevice) {
  SleepGate gate;
  EXPECT_TRUE(SleepGate::Passage(&gate).all_open());
  EXPECT_TRUE(gate.Close(1, kNow).ok());
  EXPECT_FALSE(SleepGate::Passage(&gate).all_open());
  EXPECT_TRUE(gate.is_closed(1));
  EXPECT_FALSE(gate.is_closed(0));
  gate.Open(1);
  EXPECT_TRUE(SleepGate::Passage(&gate).all_open());
}

TEST(SleepGateTest, DoesNotCloseWhileACallIsInProgress) {
  SleepGate gate;
  auto passage = std::make_unique<SleepGate::Passage>(&gate);
  EXPECT_NE(gate.Close(0, kNow).message().find("another thread"), std::string::npos);
  EXPECT_FALSE(gate.is_closed(0));
  passage.reset();
  EXPECT_TRUE(gate.Close(0, kNow).ok());
}

TEST(SleepGateTest, WaitsForACallThatEndsInTime) {
  SleepGate gate;
  auto passage = std::make_unique<SleepGate::Passage>(&gate);
  std::thread caller([&] {
    while (!gate.is_closed(0)) std::this_thread::yield();
    passage.reset();
  });
  EXPECT_TRUE(gate.Close(0, kLong).ok());
  caller.join();
}

TEST(SleepGateTest, DoesNotCloseWhileACopyIsStillToBeMade) {
  SleepGate gate;
  gate.BeginTransfer(1);
  EXPECT_NE(gate.Close(1, kNow).message().find("copy"), std::string::npos);
  EXPECT_FALSE(gate.is_closed(1));
  EXPECT_TRUE(gate.Close(0, kNow).ok()) << "it is the other device's";
  gate.BeginTransfer(-1);  // of no device that we know
  gate.EndTransfer(1);
  EXPECT_TRUE(gate.Close(1, kNow).ok());
}

TEST(SleepGateTest, WaitsForACopyThatEndsInTime) {
  SleepGate gate;
  gate.BeginTransfer(0);
  std::thread copier([&] {
    while (!gate.is_closed(0)) std::this_thread::yield();
    gate.EndTransfer(0);
  });
  EXPECT_TRUE(gate.Close(0, kLong).ok());
  copier.join();
}

}  // namespace
}  // namespace gmlake
