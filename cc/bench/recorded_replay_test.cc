#include "cc/bench/recorded_replay.h"

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <vector>

namespace gmlake::bench {
namespace {

using Happening = ::gmlake::Event;

constexpr int64_t kMiB = 1 << 20;

// Two of four go, then both holes are asked for in one piece.
Trace Holes() {
  std::vector<RawEvent> raw;
  for (int64_t id = 0; id < 4; ++id) raw.push_back({0, id, 256 * kMiB, 0, 5 + id});
  raw.push_back({1, 0, 0, 0, 20});
  raw.push_back({1, 2, 0, 0, 21});
  raw.push_back({0, 4, 512 * kMiB, 1, 30});
  raw.push_back({1, 4, 0, 1, 40});
  return *MakeTrace("holes", raw);
}

std::vector<Happening> EventsOf(const std::string& policy, std::optional<Bytes> limit) {
  return RecordReplay(Holes(), policy, limit)->events;
}

int64_t Count(const std::vector<Happening>& events, EventKind kind) {
  int64_t count = 0;
  for (const Happening& event : events) count += event.kind == kind;
  return count;
}

int64_t Held(const std::vector<Happening>& events) {
  int64_t held = 0;
  for (const Happening& event : events) {
    if (event.kind == EventKind::kCreate) held += event.size;
    if (event.kind == EventKind::kRelease) held -= event.size;
  }
  return held;
}

TEST(RecordedReplayTest, EveryRequestIsThereWithTheTimeOfTheTrace) {
  std::vector<int64_t> times;
  for (const Happening& event : EventsOf("gmlake", std::nullopt)) {
    if (event.kind == EventKind::kAlloc) times.push_back(event.time_ns);
  }
  EXPECT_EQ(times, (std::vector<int64_t>{0, 1000, 2000, 3000, 25000}));
}

TEST(RecordedReplayTest, WhereBfcRefusesWeStitch) {
  const std::vector<Happening> bfc = EventsOf("bfc", GiB(1));
  EXPECT_EQ(Count(bfc, EventKind::kRefused), 1);
  EXPECT_EQ(Count(bfc, EventKind::kFree), 2);  // that of the refused request is left out
  EXPECT_EQ(Held(bfc), 1024 * kMiB);
  const std::vector<Happening> ours = EventsOf("gmlake", GiB(1));
  EXPECT_EQ(Count(ours, EventKind::kRefused), 0);
  EXPECT_EQ(Count(ours, EventKind::kStitch), 1);
  EXPECT_EQ(Held(ours), 1024 * kMiB);
}

TEST(RecordedReplayTest, AStitchIsMappedBlockByBlockBeforeItIsLeased) {
  int64_t mapped = 0;
  std::set<int32_t> stitched;
  for (const Happening& event : EventsOf("gmlake", GiB(1))) {
    if (event.kind == EventKind::kStitch) stitched.insert(event.range);
    if (event.kind == EventKind::kMap && stitched.count(event.range)) mapped += event.size;
    if (event.kind == EventKind::kAlloc && stitched.count(event.range)) break;
  }
  EXPECT_EQ(mapped, 512 * kMiB);
}

TEST(RecordedReplayTest, FreesHaveTheAddressesOfTheirAllocations) {
  std::map<uint64_t, int64_t> live;
  for (const Happening& event : EventsOf("bfc", std::nullopt)) {
    if (event.kind == EventKind::kAlloc) live[event.address] = event.size;
    if (event.kind != EventKind::kFree) continue;
    EXPECT_EQ(live.erase(event.address), 1u);
  }
  EXPECT_EQ(live.size(), 2u);
}

TEST(RecordedReplayTest, UnknownPoliciesAreRefused) { EXPECT_FALSE(RecordReplay(Holes(), "best", std::nullopt).ok()); }

}  // namespace
}  // namespace gmlake::bench
