#include "cc/telemetry/recorder.h"

#include <gtest/gtest.h>

namespace gmlake {
namespace {

Event OfSize(int64_t size) {
  Event event;
  event.size = size;
  return event;
}

TEST(RecorderTest, IsOffUntilItIsStarted) {
  Recorder recorder;
  EXPECT_FALSE(recorder.is_on());
  recorder.Start(10);
  EXPECT_TRUE(recorder.is_on());
  recorder.Stop();
  EXPECT_FALSE(recorder.is_on());
  EXPECT_TRUE(recorder.Read().events.empty());
}

TEST(RecorderTest, KeepsTheLastEventsInOrderAndCountsTheOthers) {
  Recorder recorder;
  recorder.Start(4);
  for (int i = 0; i < 10; ++i) recorder.Add(OfSize(i), MonotonicNs());
  const Recording recording = recorder.Read();
  EXPECT_EQ(recording.dropped, 6);
  ASSERT_EQ(recording.events.size(), 4);
  for (int i = 0; i < 4; ++i) EXPECT_EQ(recording.events[i].size, 6 + i);
}

TEST(RecorderTest, ReadsWhatThereIsBeforeTheRingIsFull) {
  Recorder recorder;
  recorder.Start(4);
  for (int i = 0; i < 3; ++i) recorder.Add(OfSize(i), MonotonicNs());
  const Recording recording = recorder.Read();
  EXPECT_EQ(recording.dropped, 0);
  ASSERT_EQ(recording.events.size(), 3);
  EXPECT_EQ(recording.events[0].size, 0);
  EXPECT_EQ(recording.events[2].size, 2);
}

TEST(RecorderTest, TimesAreSinceTheStart) {
  Recorder recorder;
  recorder.Start(4);
  const int64_t start = recorder.Read().start_ns;
  recorder.Add(OfSize(1), start + 5);
  EXPECT_EQ(recorder.Read().events[0].time_ns, 5);
  recorder.Start(4);
  EXPECT_TRUE(recorder.Read().events.empty()) << "started anew";
}

TEST(ClockTest, TheCoarseClockIsTheSameClock) { EXPECT_LT(std::abs(MonotonicNs() - CoarseMonotonicNs()), 100'000'000); }

}  // namespace
}  // namespace gmlake
