#include "cc/report/oom_event.h"

#include <gtest/gtest.h>

namespace gmlake {
namespace {

AllocatorStats Sample() {
  AllocatorStats stats;
  stats.bytes_limit = MiB(700);
  stats.bytes_in_use = MiB(404);
  stats.bytes_reserved = MiB(420);
  stats.largest_free_block = MiB(12);
  stats.largest_servable = MiB(296);
  stats.num_live = 2;
  return stats;
}

OomEvent Refused(Bytes asked, const AllocatorStats& stats = Sample()) {
  OomEvent oom_event;
  oom_event.device = 1;
  oom_event.asked = asked;
  oom_event.snapshot.stats = stats;
  return oom_event;
}

TEST(OomEventTest, SaysWhoHasTheMemory) {
  EXPECT_EQ(DescribeOomEvent(Refused(MiB(400))),
            "[gmlake_jax] device 1: asked for 400.0 MiB; of a limit of 700.0 MiB, 404.0 MiB are in use by 2 buffers, "
            "16.0 MiB idle (largest piece 12.0 MiB); the largest request that fits is 296.0 MiB. "
            "Over the limit by 104.0 MiB.");
}

TEST(OomEventTest, TellsAFullDeviceFromAFullLimit) {
  const std::string line = DescribeOomEvent(Refused(MiB(200)));
  EXPECT_NE(line.find("The limit would allow it; the device has no more memory"), std::string::npos) << line;
}

TEST(OomEventTest, MentionsTroubleOnlyWhereThereIsSome) {
  AllocatorStats stats = Sample();
  stats.bytes_pending = MiB(4);
  stats.bytes_quarantined = MiB(2);
  const std::string line = DescribeOomEvent(Refused(MiB(400), stats));
  EXPECT_NE(line.find("10.0 MiB idle"), std::string::npos) << line;
  EXPECT_NE(line.find("4.0 MiB waiting for a stream"), std::string::npos) << line;
  EXPECT_NE(line.find("2.0 MiB lost to driver errors"), std::string::npos) << line;
}

TEST(OomEventTest, PassesOnWhatTheAllocatorSaysUnlessItIsTheLimit) {
  for (const Bytes asked : {MiB(200), MiB(400)}) {
    OomEvent oom_event = Refused(asked);
    oom_event.reason = "cuMemMap of 64.0 MiB: out of memory";
    const bool is_passed_on = DescribeOomEvent(oom_event).find(oom_event.reason) != std::string::npos;
    EXPECT_EQ(is_passed_on, asked == MiB(200)) << ToString(asked);
  }
}

}  // namespace
}  // namespace gmlake
