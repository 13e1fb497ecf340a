// Statistics and snapshots of an allocator, in scenarios whose numbers were computed by hand.
#include <algorithm>
#include <string>
#include <vector>

#include "cc/core/allocator.h"
#include "cc/driver/fake_driver.h"
#include "cc/telemetry/labels.h"
#include "gtest/gtest.h"

namespace gmlake {
namespace {

const StreamHandle kOwner{reinterpret_cast<void*>(16)};

class SnapshotTest : public testing::Test {
 protected:
  void TearDown() override {
    SetCurrentLabel(kNoLabel);
    EXPECT_EQ(allocator_.CheckInvariants(), "");
    EXPECT_EQ(driver_.violations(), std::vector<std::string>());
  }

  Address Get(Bytes size) {
    const StatusOr<Address> address = allocator_.Allocate(size, kOwner);
    EXPECT_TRUE(address.ok()) << address.status().message();
    return address.ok() ? *address : Address();
  }

  // Leases 256 MiB as 8 MiB each and frees every other one, so that 128 MiB are free in 16 pieces.
  void MakeHoles() {
    std::vector<Address> all;
    for (int i = 0; i < 32; ++i) all.push_back(Get(MiB(8)));
    for (int i = 1; i < 32; i += 2) allocator_.Free(all[i], kOwner);
  }

  Recording ReadRecording() {
    Recording recording;
    allocator_.TakeSnapshot(&recording);
    return recording;
  }

  std::vector<EventKind> KindsOf(const Recording& recording) {
    std::vector<EventKind> kinds;
    for (const Event& event : recording.events) kinds.push_back(event.kind);
    return kinds;
  }

  FakeDriver driver_{GiB(4)};
  Allocator allocator_{&driver_, {MiB(256)}};
};

template <typename Row>
Bytes Sum(const std::vector<Row>& rows) {
  Bytes total(0);
  for (const Row& row : rows) total += Bytes(row.size);
  return total;
}

TEST_F(SnapshotTest, ItsRowsAddUpToTheNumbers) {
  MakeHoles();
  Get(MiB(100));
  Get(Bytes(1000));
  const Snapshot snapshot = allocator_.TakeSnapshot();
  EXPECT_EQ(Sum(snapshot.blocks), snapshot.stats.bytes_reserved);
  EXPECT_EQ(Sum(snapshot.leases), snapshot.stats.bytes_in_use);
  EXPECT_EQ(static_cast<int64_t>(snapshot.leases.size()), snapshot.stats.num_live);
  EXPECT_EQ(static_cast<int64_t>(snapshot.blocks.size()), snapshot.stats.num_blocks);
  EXPECT_EQ(static_cast<int64_t>(snapshot.ranges.size()), snapshot.stats.num_ranges);
  Bytes mapped(0);
  for (const MappingRow& mapping : snapshot.mappings) mapped += Bytes(snapshot.blocks[mapping.block].size);
  EXPECT_EQ(mapped, snapshot.stats.bytes_mapped);
  EXPECT_EQ(driver_.num_mappings(), static_cast<int64_t>(snapshot.mappings.size()));
}

TEST_F(SnapshotTest, AStitchedLeaseLiesInARangeOfBlocksThatAreAlsoAtHome) {
  MakeHoles();
  const Address stitched = Get(MiB(128));
  const Snapshot snapshot = allocator_.TakeSnapshot();
  const auto lease = std::find_if(snapshot.leases.begin(), snapshot.leases.end(),
                                  [&](const LeaseRow& row) { return row.address == stitched.value(); });
  ASSERT_NE(lease, snapshot.leases.end());
  EXPECT_EQ(lease->way, WayNumber(Way::kStitch));
  EXPECT_EQ(lease->size, MiB(128).count());
  const auto range = std::find_if(snapshot.ranges.begin(), snapshot.ranges.end(),
                                  [&](const RangeRow& row) { return row.id == lease->range; });
  ASSERT_NE(range, snapshot.ranges.end());
  EXPECT_EQ(range->is_stitched, 1);
  for (const MappingRow& mapping : snapshot.mappings) {
    if (mapping.range != range->id) continue;
    EXPECT_EQ(2, std::count_if(snapshot.mappings.begin(), snapshot.mappings.end(),
                               [&](const MappingRow& other) { return other.block == mapping.block; }));
  }
}

TEST_F(SnapshotTest, ALeaseKnowsItsStreamSizeAndLabel) {
  SetCurrentLabel(InternLabel(kNoLabel, "weights"));
  const int64_t before = MonotonicNs();
  Get(Bytes(1000));
  const LeaseRow lease = allocator_.TakeSnapshot().leases.at(0);
  EXPECT_EQ(lease.requested, 1000);
  EXPECT_EQ(lease.size, 1024);
  EXPECT_EQ(lease.stream, 16u);
  EXPECT_EQ(LabelPath(lease.annotation), "weights");
  EXPECT_EQ(lease.way, WayNumber(Way::kSmall));
  EXPECT_LT(std::abs(lease.time_ns - before), 1'000'000'000);
}

TEST_F(SnapshotTest, MemoryInDoubtIsMarked) {
  allocator_.Free(Get(MiB(16)), kOwner);
  driver_.FinishAll();
  driver_.FailNamed("unmap", 0, 1, StatusCode::kDriverError);
  allocator_.Trim(Bytes(0));
  const Snapshot snapshot = allocator_.TakeSnapshot();
  Bytes in_doubt(0);
  for (const BlockRow& block : snapshot.blocks) in_doubt += Bytes(block.quarantined ? block.size : 0);
  EXPECT_GT(in_doubt, Bytes(0));
  EXPECT_EQ(in_doubt, snapshot.stats.bytes_quarantined);
}

TEST_F(SnapshotTest, ALeaseThatCannotBeOrderedYetIsPending) {
  const Address address = Get(MiB(16));
  const StreamHandle captured{reinterpret_cast<void*>(32)};
  driver_.SetCapturing(captured, true);
  allocator_.Free(address, captured);
  const Snapshot snapshot = allocator_.TakeSnapshot();
  ASSERT_EQ(snapshot.leases.size(), 1);
  EXPECT_EQ(snapshot.leases[0].state, LeaseState::kPending);
  EXPECT_EQ(snapshot.stats.bytes_pending, MiB(16));
  driver_.SetCapturing(captured, false);
  allocator_.Maintain();
}

TEST_F(SnapshotTest, NothingIsRecordedUntilAsked) {
  Get(MiB(16));
  EXPECT_TRUE(ReadRecording().events.empty());
}

TEST_F(SnapshotTest, ARecordingTellsEveryStepInOrder) {
  allocator_.Record(100);
  SetCurrentLabel(InternLabel(kNoLabel, "step"));
  const Address address = Get(MiB(2) - Bytes(100));  // one block
  allocator_.MarkMoment();
  allocator_.Free(address, StreamHandle{});
  const Recording recording = ReadRecording();
  EXPECT_EQ(KindsOf(recording), (std::vector<EventKind>{EventKind::kCreate, EventKind::kReserve, EventKind::kMap,
                                                        EventKind::kAlloc, EventKind::kMark, EventKind::kFree}));
  const Event& alloc = recording.events[3];
  EXPECT_EQ(alloc.address, address.value());
  EXPECT_EQ(alloc.size, MiB(2).count());
  EXPECT_EQ(alloc.requested, MiB(2).count() - 100);
  EXPECT_EQ(alloc.stream, 16u);
  EXPECT_EQ(alloc.way, WayNumber(Way::kGrow));
  EXPECT_EQ(LabelPath(alloc.annotation), "step");
  EXPECT_EQ(alloc.range, recording.events[1].range);
  const Event& free = recording.events[5];
  EXPECT_EQ(free.address, address.value());
  EXPECT_EQ(free.size, alloc.size);
  EXPECT_EQ(free.stream, 0u);
  EXPECT_EQ(free.annotation, alloc.annotation) << "of the lease, whoever frees it";
  EXPECT_GE(free.time_ns, alloc.time_ns);
}

TEST_F(SnapshotTest, ARefusalALimitAndATrimAreRecorded) {
  allocator_.Free(Get(MiB(16)), kOwner);
  driver_.FinishAll();
  allocator_.Record(100);
  EXPECT_FALSE(allocator_.Allocate(GiB(1), kOwner).ok());
  EXPECT_TRUE(allocator_.SetLimit(MiB(128)).ok());
  EXPECT_EQ(allocator_.Trim(Bytes(0)), MiB(16));
  const std::vector<Event> events = ReadRecording().events;
  ASSERT_EQ(events.front().kind, EventKind::kRefused);
  EXPECT_EQ(events.front().size, GiB(1).count());
  EXPECT_EQ(events[1].kind, EventKind::kLimit);
  EXPECT_EQ(events[1].size, MiB(128).count());
  EXPECT_EQ(events.back().kind, EventKind::kTrim);
  EXPECT_EQ(events.back().size, MiB(16).count());
}

TEST_F(SnapshotTest, ATrackByNameSeesOnlyItsOwnLeases) {
  const int32_t mine = InternLabel(kNoLabel, "mine");
  SetCurrentLabel(mine);
  const Address early = Get(MiB(4));
  const int64_t id = allocator_.BeginTrack("mine");
  const Address later = Get(MiB(8));
  SetCurrentLabel(kNoLabel);
  Get(MiB(32));
  allocator_.Free(early, kOwner);
  TrackStats stats;
  ASSERT_TRUE(allocator_.ReadTrack(id, &stats, /*end=*/false));
  EXPECT_EQ(stats.bytes_at_start, MiB(4).count());
  EXPECT_EQ(stats.peak_bytes, MiB(12).count());
  EXPECT_EQ(stats.bytes_in_use, MiB(8).count());
  EXPECT_EQ(stats.num_allocs, 1);
  allocator_.Free(later, kOwner);
  ASSERT_TRUE(allocator_.ReadTrack(id, &stats, /*end=*/true));
  EXPECT_EQ(stats.bytes_in_use, 0);
  EXPECT_FALSE(allocator_.ReadTrack(id, &stats, /*end=*/true));
}

TEST_F(SnapshotTest, ATrackOfEverythingSeesStitchesAndRefusals) {
  MakeHoles();
  const int64_t id = allocator_.BeginTrack("");
  Get(MiB(128));
  EXPECT_FALSE(allocator_.Allocate(MiB(8), kOwner).ok());
  TrackStats stats;
  ASSERT_TRUE(allocator_.ReadTrack(id, &stats, /*end=*/true));
  EXPECT_EQ(stats.bytes_at_start, MiB(128).count());
  EXPECT_EQ(stats.peak_bytes, MiB(256).count());
  EXPECT_EQ(stats.bytes_stitched, MiB(128).count());
  EXPECT_EQ(stats.num_failures, 1);
}

TEST_F(SnapshotTest, NumbersOfAFragmentedDevice) {
  MakeHoles();
  const AllocatorStats stats = allocator_.StatsOfDevice();
  EXPECT_EQ(stats.bytes_reserved, MiB(256));
  EXPECT_EQ(stats.bytes_in_use, MiB(128));
  EXPECT_EQ(stats.num_free_pieces, 16);
  EXPECT_EQ(stats.largest_free_block, MiB(8));
  EXPECT_EQ(stats.bytes_stitchable, MiB(128));
  EXPECT_EQ(stats.largest_servable, MiB(128)) << "the limit is reached, so nothing grows";
  EXPECT_EQ(stats.bytes_created, MiB(256));
  EXPECT_EQ(stats.bytes_released, Bytes(0));
  EXPECT_TRUE(allocator_.Allocate(stats.largest_servable, kOwner).ok());
}

TEST_F(SnapshotTest, NumbersOfTheDeviceAndOfOthersOnIt) {
  driver_.SetForeignMemory(GiB(1));
  Get(MiB(16));
  const AllocatorStats stats = allocator_.StatsOfDevice();
  EXPECT_EQ(stats.bytes_device_total, GiB(4));
  EXPECT_EQ(stats.bytes_device_free, GiB(3) - MiB(16));
  EXPECT_EQ(stats.bytes_outside, GiB(1));
  EXPECT_EQ(allocator_.Stats().bytes_device_total, Bytes(0)) << "not asked";
}

TEST_F(SnapshotTest, WhatIsServableNowHeedsWhatOthersHold) {
  driver_.SetForeignMemory(GiB(4) - MiB(64));
  EXPECT_EQ(allocator_.StatsOfDevice().largest_servable, MiB(64));
  EXPECT_FALSE(allocator_.Allocate(MiB(66), kOwner).ok());
  EXPECT_TRUE(allocator_.Allocate(MiB(64), kOwner).ok());
}

TEST_F(SnapshotTest, NumbersOfTheSmallPool) {
  Get(Bytes(1000));
  const AllocatorStats stats = allocator_.Stats();
  EXPECT_EQ(stats.bytes_in_use, Bytes(1024));
  EXPECT_EQ(stats.bytes_requested, Bytes(1000));
  EXPECT_EQ(stats.bytes_small_free, MiB(2) - Bytes(1024));
}

TEST_F(SnapshotTest, GivenBackIsCounted) {
  allocator_.Free(Get(MiB(16)), kOwner);
  driver_.FinishAll();
  allocator_.Trim(Bytes(0));
  const AllocatorStats stats = allocator_.Stats();
  EXPECT_EQ(stats.bytes_created, MiB(16));
  EXPECT_EQ(stats.bytes_released, MiB(16));
  EXPECT_EQ(stats.bytes_reserved, Bytes(0));
}

TEST_F(SnapshotTest, AWaitForTheDeviceIsCounted) {
  const Address address = Get(MiB(16));
  driver_.Launch(kOwner, address, MiB(16));
  allocator_.Free(address, kOwner);
  EXPECT_EQ(allocator_.Stats().num_device_waits, 0);
  allocator_.Trim(Bytes(0));
  EXPECT_EQ(allocator_.Stats().num_device_waits, 1);
}

}  // namespace
}  // namespace gmlake
