// The report of a refused request, line by line, for states worked out by hand.
#include <gtest/gtest.h>

#include <algorithm>

#include "cc/report/oom_event.h"

namespace gmlake {
namespace {

constexpr int64_t kSecond = 1'000'000'000;

LeaseRow Lease(Bytes size, int32_t annotation, int64_t time_ns) {
  LeaseRow lease;
  lease.size = size.count();
  lease.annotation = annotation;
  lease.time_ns = time_ns;
  return lease;
}

// 404 MiB of a limit of 700 MiB are live; the device has 1 GiB, of which others hold 100 MiB.
OomEvent Sample() {
  OomEvent oom_event;
  oom_event.device = 1;
  oom_event.device_name = "NVIDIA H200";
  oom_event.asked = MiB(400);
  oom_event.label = "train/jit_step";
  oom_event.labels = {"weights", "batch"};
  AllocatorStats& stats = oom_event.snapshot.stats;
  stats.bytes_limit = MiB(700);
  stats.bytes_in_use = MiB(404);
  stats.peak_bytes_in_use = MiB(410);
  stats.bytes_reserved = MiB(420);
  stats.largest_free_block = MiB(12);
  stats.bytes_stitchable = MiB(14);
  stats.largest_servable = MiB(294);
  stats.num_live = 3;
  stats.num_blocks = 30;
  stats.num_free_pieces = 2;
  stats.bytes_device_total = GiB(1);
  stats.bytes_device_free = MiB(504);
  stats.bytes_outside = MiB(100);
  oom_event.snapshot.time_ns = 60 * kSecond;
  oom_event.snapshot.leases = {Lease(MiB(200), 0, 10 * kSecond), Lease(MiB(200), 0, 20 * kSecond),
                               Lease(MiB(4), kNoNumber, 59 * kSecond)};
  return oom_event;
}

::testing::AssertionResult Has(const std::string& text, const std::string& part) {
  if (text.find(part) != std::string::npos) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure() << "no \"" << part << "\" in\n" << text;
}

TEST(OomReportTest, SaysWhoAskedForWhat) {
  const std::string text = Report(Sample());
  EXPECT_TRUE(Has(text, "[gmlake_jax] out of memory on device 1 (NVIDIA H200)\n"));
  EXPECT_TRUE(Has(text, "  asked for             400.0 MiB  by train/jit_step\n"));
}

TEST(OomReportTest, ShowsEverySizeInItsPlace) {
  const std::string text = Report(Sample());
  for (const char* line :
       {"  limit                 700.0 MiB\n",
        "  live                  404.0 MiB  in 3 buffers; at the peak 410.0 MiB\n",
        "  reserved              420.0 MiB  in 30 physical blocks\n",
        "  idle                   16.0 MiB  in 2 pieces, the largest 12.0 MiB\n", "  could still grow      280.0 MiB\n",
        "  most in one piece     294.0 MiB\n", "  outside gmlake_jax    100.0 MiB  of the device's 1.0 GiB\n"}) {
    EXPECT_TRUE(Has(text, line));
  }
}

TEST(OomReportTest, TellsTooMuchFromFragmentation) {
  EXPECT_TRUE(Has(Report(Sample()),
                  "14.0 MiB can be stitched of what is idle, and 280.0 MiB can grow: 106.0 MiB short. "
                  "This is not fragmentation: it is too much for the limit.\n"));
}

TEST(OomReportTest, TellsAFullDeviceAndWhoFilledIt) {
  OomEvent oom_event = Sample();
  oom_event.asked = MiB(200);
  oom_event.snapshot.stats.bytes_device_free = MiB(20);
  oom_event.snapshot.stats.bytes_outside = MiB(584);
  oom_event.snapshot.stats.largest_servable = MiB(34);
  oom_event.processes = {{77, "other", MiB(500), false}, {78, "python", MiB(500), true}};
  const std::string text = Report(oom_event);
  EXPECT_TRUE(Has(text, "  could still grow       20.0 MiB\n"));
  EXPECT_TRUE(Has(text, "166.0 MiB short. The limit would allow it; the device is full.\n"));
  EXPECT_TRUE(Has(text, "                        500.0 MiB  other (pid 77)\n"));
  EXPECT_TRUE(Has(text, "this process, in all (pid 78)\n"));
  EXPECT_TRUE(Has(text, "end what else uses the device"));
}

TEST(OomReportTest, TellsScatteredMemory) {
  OomEvent oom_event = Sample();
  oom_event.asked = MiB(295);
  EXPECT_EQ(CauseOf(oom_event.asked, oom_event.snapshot.stats), Cause::kScattered);
  const std::string text = Report(oom_event);
  EXPECT_TRUE(Has(text, "not enough in one piece"));
  EXPECT_TRUE(Has(text, "empty_cache()"));
}

TEST(OomReportTest, GroupsBuffersAndSumsAnnotations) {
  const std::string text = Report(Sample());
  EXPECT_TRUE(Has(text, "  2 x 200.0 MiB         400.0 MiB  50 s old, weights\n"));
  EXPECT_TRUE(Has(text, "  1 x 4.0 MiB             4.0 MiB  1 s old\n"));
  EXPECT_TRUE(Has(text, "  2 buffers             400.0 MiB  weights\n"));
  EXPECT_TRUE(Has(text, "  1 buffer                4.0 MiB  (none)\n"));
}

TEST(OomReportTest, AdviceFitsTheCase) {
  const std::string text = Report(Sample());
  EXPECT_TRUE(
      Has(text, "a higher limit: GMLAKE_LIMIT, gmlake_jax.set_memory_limit(); the device would allow 924.0 MiB\n"));
  EXPECT_TRUE(Has(text, "GMLAKE_OOM_DIR"));
  EXPECT_FALSE(Has(text, "block_until_ready"));
  OomEvent pending = Sample();
  pending.snapshot.stats.bytes_pending = MiB(4);
  pending.saved = "/tmp/x";
  EXPECT_TRUE(Has(Report(pending), "block_until_ready"));
  EXPECT_TRUE(Has(Report(pending), "Saved: /tmp/x\n"));
  EXPECT_FALSE(Has(Report(pending), "GMLAKE_OOM_DIR"));
}

TEST(OomReportTest, CountsWhatWasRefusedWithoutConsequence) {
  OomEvent oom_event = Sample();
  EXPECT_FALSE(Has(Report(oom_event), "earlier"));
  oom_event.earlier = 3;
  EXPECT_TRUE(Has(Report(oom_event), "3 earlier requests that did not fit had no consequence"));
}

TEST(OomReportTest, FitsOneScreen) {
  OomEvent oom_event = Sample();
  for (int i = 0; i < 100; ++i) oom_event.snapshot.leases.push_back(Lease(MiB(i + 1), i % 2, 0));
  const std::string text = Report(oom_event);
  EXPECT_LE(std::count(text.begin(), text.end(), '\n'), 40);
}

}  // namespace
}  // namespace gmlake
