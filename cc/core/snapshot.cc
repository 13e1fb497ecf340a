// What an allocator says of itself: numbers, a snapshot, a recording, tracks. A part of the allocator, in a file of its
// own because it only reads (and keeps what it is told to keep); nothing here changes what is leased or mapped.
#include <algorithm>

#include "cc/core/allocator.h"
#include "cc/telemetry/labels.h"

namespace gmlake {
namespace {

// How much the device could still give, if the limit allowed it.
Bytes Growth(Bytes room, const StatusOr<DeviceMemory>& device, Bytes granularity) {
  return AlignDown(device.ok() ? std::min(room, device->free) : room, granularity);
}

void AddDevice(const DeviceMemory& device, AllocatorStats* stats) {
  stats->bytes_device_total = device.total;
  stats->bytes_device_free = device.free;
  stats->bytes_outside = std::max(device.total - device.free - stats->bytes_reserved, Bytes(0));
}

constexpr int64_t kMostEvents = 100'000'000;

int64_t CountFree(const ChunkList& space) {
  int64_t count = 0;
  space.ForEachFree([&count](const Chunk&) { ++count; });
  return count;
}

}  // namespace

AllocatorStats Allocator::Stats() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return StatsUnderLock(Status(StatusCode::kNotReady, "the device was not asked"));
}

AllocatorStats Allocator::StatsOfDevice() {
  const StatusOr<DeviceMemory> device = parts_.driver.QueryMemory();
  std::lock_guard<std::mutex> lock(mutex_);
  return StatsUnderLock(device);
}

AllocatorStats Allocator::StatsUnderLock(const StatusOr<DeviceMemory>& device) const {
  AllocatorStats stats = parts_.books.kept();
  stats.bytes_pending = parts_.pending.bytes();
  stats.num_live = parts_.leases.count();
  stats.bytes_reserved = parts_.memory.reserved();
  stats.bytes_mapped = parts_.memory.blocks.bytes() + parts_.memory.ranges.mapped_bytes() - parts_.sleeper.unmapped();
  stats.bytes_asleep = parts_.memory.asleep;
  stats.bytes_on_host = parts_.sleeper.on_host();
  stats.bytes_quarantined = parts_.memory.unreleased.bytes + parts_.memory.quarantined_blocks;
  stats.num_quarantined_blocks = parts_.memory.unreleased.blocks + parts_.memory.num_quarantined_blocks;
  stats.largest_free_block = parts_.memory.space.LargestFree();
  stats.bytes_stitchable = std::max(stats.largest_free_block, parts_.placer.stitcher().Available());
  // What grows is added to what can be stitched; a free piece inside a block can only be had as it is.
  const Bytes growth =
      Growth(parts_.books.limit() - parts_.memory.reserved(), device, parts_.memory.blocks.granularity());
  stats.largest_servable = std::max(stats.largest_free_block, parts_.placer.stitcher().Available() + growth);
  if (!parts_.sleeper.awake()) stats.largest_free_block = stats.bytes_stitchable = stats.largest_servable = Bytes(0);
  stats.bytes_small_free = parts_.small.free_bytes();
  stats.bytes_created = parts_.journal.inventory().bytes_created();
  stats.bytes_released = parts_.journal.inventory().bytes_released();
  stats.num_free_pieces = CountFree(parts_.memory.space);
  stats.num_blocks = parts_.memory.blocks.count();
  stats.num_stitched_ranges = parts_.memory.ranges.count();
  stats.num_ranges = stats.num_stitched_ranges + static_cast<int64_t>(parts_.memory.blocks.ranges().size());
  stats.num_reclaimed_ranges = parts_.reclaimer.num_reclaimed();
  stats.num_stream_waits = parts_.order.waits();
  stats.driver_calls = parts_.driver.calls();
  stats.bytes_addresses = parts_.memory.address_bytes();
  stats.num_reservations =
      parts_.memory.addresses.num_reservations() + static_cast<int64_t>(parts_.memory.blocks.ranges().size());
  if (device.ok()) AddDevice(*device, &stats);
  return stats;
}

Snapshot Allocator::TakeSnapshot(Recording* recording) {
  const StatusOr<DeviceMemory> device = parts_.driver.QueryMemory();
  std::lock_guard<std::mutex> lock(mutex_);
  Snapshot snapshot;
  snapshot.stats = StatsUnderLock(device);
  snapshot.time_ns = MonotonicNs();
  parts_.journal.inventory().CopyTo(&snapshot);
  parts_.leases.ForEach(
      [&](Address address, ChunkId chunk) { snapshot.leases.push_back(RowOf(address, chunk, LeaseState::kLive)); });
  parts_.pending.ForEach([&](ChunkId chunk) {
    snapshot.leases.push_back(RowOf(parts_.memory.chunks[chunk].address, chunk, LeaseState::kPending));
  });
  std::sort(snapshot.leases.begin(), snapshot.leases.end(),
            [](const LeaseRow& a, const LeaseRow& b) { return a.address < b.address; });
  MarkDoubts(&snapshot);
  if (recording != nullptr) *recording = parts_.journal.recorder().Read();
  return snapshot;
}

LeaseRow Allocator::RowOf(Address address, ChunkId chunk, LeaseState state) const {
  const LeaseNote& note = parts_.journal.note(chunk);
  LeaseRow row;
  row.address = address.value();
  row.size = PlacedSize(parts_.memory, chunk).count();
  row.requested = parts_.memory.chunks[chunk].requested.count();
  row.stream = reinterpret_cast<uint64_t>(note.stream.value);
  row.time_ns = note.time_ns;
  row.range = parts_.journal.inventory().RangeAt(address);
  row.annotation = note.label;
  row.state = state;
  row.way = WayNumber(note.way);
  return row;
}

// In doubt is what the driver holds for us and no table of ours counts on.
void Allocator::MarkDoubts(Snapshot* snapshot) const {
  std::vector<int32_t> sound;
  parts_.memory.blocks.ForEach([&](BlockId id) {
    const Block& block = parts_.memory.blocks[id];
    if (!block.quarantined) sound.push_back(parts_.journal.inventory().BlockNumber(block.handle.value));
  });
  std::sort(sound.begin(), sound.end());
  for (BlockRow& block : snapshot->blocks) {
    block.quarantined = std::binary_search(sound.begin(), sound.end(), block.id) ? 0 : 1;
  }
}

void Allocator::Record(int64_t max_events) {
  std::lock_guard<std::mutex> lock(mutex_);
  if (max_events > 0) {
    parts_.journal.StartRecording(std::min(max_events, kMostEvents));
  } else {
    parts_.journal.StopRecording();
  }
}

bool Allocator::is_recording() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return parts_.journal.recorder().is_on();
}

void Allocator::MarkMoment() {
  std::lock_guard<std::mutex> lock(mutex_);
  parts_.journal.OnEvent(EventKind::kMark, Bytes(0));
}

int64_t Allocator::BeginTrack(const std::string& name) {
  std::lock_guard<std::mutex> lock(mutex_);
  Bytes in_use(0);
  parts_.leases.ForEach([&](Address, ChunkId chunk) {
    if (name.empty() || HasName(parts_.journal.note(chunk).label, name)) in_use += PlacedSize(parts_.memory, chunk);
  });
  return parts_.journal.tracks().Begin(name, in_use);
}

bool Allocator::ReadTrack(int64_t id, TrackStats* stats, bool end) {
  std::lock_guard<std::mutex> lock(mutex_);
  if (!parts_.journal.tracks().Read(id, stats)) return false;
  return !end || parts_.journal.tracks().End(id);
}

}  // namespace gmlake
