#include "cc/pjrt/devices/housekeeper.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

namespace gmlake {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

TEST(HousekeeperTest, WorksAgainAndAgainUntilStopped) {
  std::atomic<int> calls{0};
  Housekeeper housekeeper([&calls] { ++calls; }, milliseconds(1));
  const auto deadline = steady_clock::now() + std::chrono::seconds(10);
  while (calls < 3 && steady_clock::now() < deadline) std::this_thread::sleep_for(milliseconds(1));
  EXPECT_GE(calls, 3);
  housekeeper.Stop();
  const int stopped_at = calls;
  std::this_thread::sleep_for(milliseconds(20));
  EXPECT_EQ(calls, stopped_at);
}

TEST(HousekeeperTest, StopsAtOnceInTheMiddleOfALongPause) {
  const auto begin = steady_clock::now();
  {
    Housekeeper housekeeper([] {}, std::chrono::hours(1));
  }
  EXPECT_LT(steady_clock::now() - begin, std::chrono::seconds(10));
}

// However late the two threads get their turns.
TEST(HousekeeperTest, PausesBetweenCalls) {
  constexpr milliseconds kPeriod(50);
  std::atomic<int> calls{0};
  const auto begin = steady_clock::now();
  Housekeeper housekeeper([&calls] { ++calls; }, kPeriod);
  std::this_thread::sleep_for(milliseconds(120));
  housekeeper.Stop();
  EXPECT_LE(calls.load() * kPeriod, steady_clock::now() - begin);
}

}  // namespace
}  // namespace gmlake
