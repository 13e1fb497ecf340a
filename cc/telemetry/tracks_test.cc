#include "cc/telemetry/tracks.h"

#include <gtest/gtest.h>

#include "cc/telemetry/labels.h"

namespace gmlake {
namespace {

TrackStats Read(const Tracks& tracks, int64_t id) {
  TrackStats stats;
  EXPECT_TRUE(tracks.Read(id, &stats));
  return stats;
}

TEST(TracksTest, CountsWhatHappensWhileItIsOpen) {
  Tracks tracks;
  const int64_t id = tracks.Begin("", Bytes(1000));
  tracks.OnAlloc(Bytes(500), kNoLabel, Way::kGrow);
  tracks.OnAlloc(Bytes(300), kNoLabel, Way::kStitch);
  tracks.OnFree(Bytes(1000), kNoLabel);
  tracks.OnAlloc(Bytes(100), kNoLabel, Way::kReuse);
  tracks.OnFailure(kNoLabel);
  const TrackStats stats = Read(tracks, id);
  EXPECT_EQ(stats.bytes_at_start, 1000);
  EXPECT_EQ(stats.peak_bytes, 1800);
  EXPECT_EQ(stats.bytes_in_use, 900);
  EXPECT_EQ(stats.bytes_allocated, 900);
  EXPECT_EQ(stats.bytes_stitched, 300);
  EXPECT_EQ(stats.num_allocs, 3);
  EXPECT_EQ(stats.num_frees, 1);
  EXPECT_EQ(stats.num_failures, 1);
}

TEST(TracksTest, ANameCountsItsOwnOnly) {
  Tracks tracks;
  const int32_t mine = InternLabel(InternLabel(kNoLabel, "outer"), "mine");
  const int32_t other = InternLabel(kNoLabel, "other");
  const int64_t id = tracks.Begin("mine", Bytes(0));
  tracks.OnAlloc(Bytes(10), InternLabel(mine, "inside"), Way::kSplit);
  tracks.OnAlloc(Bytes(20), other, Way::kSplit);
  tracks.OnAlloc(Bytes(40), kNoLabel, Way::kSplit);
  tracks.OnFree(Bytes(20), other);
  tracks.OnFailure(other);
  EXPECT_EQ(Read(tracks, id).bytes_in_use, 10);
  EXPECT_EQ(Read(tracks, id).num_allocs, 1);
  EXPECT_EQ(Read(tracks, id).num_frees, 0);
  EXPECT_EQ(Read(tracks, id).num_failures, 0);
}

TEST(TracksTest, OneInsideAnotherCountsForBoth) {
  Tracks tracks;
  const int64_t outer = tracks.Begin("", Bytes(0));
  tracks.OnAlloc(Bytes(1), kNoLabel, Way::kSplit);
  const int64_t inner = tracks.Begin("", Bytes(1));
  tracks.OnAlloc(Bytes(2), kNoLabel, Way::kSplit);
  EXPECT_TRUE(tracks.End(inner));
  tracks.OnAlloc(Bytes(4), kNoLabel, Way::kSplit);
  EXPECT_EQ(Read(tracks, outer).num_allocs, 3);
  TrackStats stats;
  EXPECT_FALSE(tracks.Read(inner, &stats));
  EXPECT_FALSE(tracks.End(inner));
  EXPECT_TRUE(tracks.End(outer));
  EXPECT_TRUE(tracks.empty());
}

}  // namespace
}  // namespace gmlake
