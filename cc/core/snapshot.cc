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
  const StatusOr<DeviceMemory> device = driver_.QueryMemory();
  std::lock_guard<std::mutex> lock(mutex_);
  return StatsUnderLock(device);
}

AllocatorStats Allocator::StatsUnderLock(const StatusOr<DeviceMemory>& device) const {
  AllocatorStats stats = books_;
  stats.num_live = leases_.count();
  stats.bytes_reserved = memory_.reserved();
  stats.bytes_mapped = memory_.blocks.bytes() + memory_.ranges.mapped_bytes() - sleeper_.unmapped();
  stats.bytes_asleep = memory_.asleep;
  stats.bytes_on_host = sleeper_.on_host();
  stats.bytes_quarantined = memory_.unreleased.bytes + memory_.quarantined_blocks;
  stats.num_quarantined_blocks = memory_.unreleased.blocks + memory_.num_quarantined_blocks;
  stats.largest_free_block = memory_.space.LargestFree();
  stats.bytes_stitchable = std::max(stats.largest_free_block, placer_.stitcher().Available());
  // What grows is added to what can be stitched; a free piece inside a block can only be had as it is.
  const Bytes growth = Growth(books_.bytes_limit - memory_.reserved(), device, memory_.blocks.granularity());
  stats.largest_servable = std::max(stats.largest_free_block, placer_.stitcher().Available() + growth);
  if (!sleeper_.awake()) stats.largest_free_block = stats.bytes_stitchable = stats.largest_servable = Bytes(0);
  stats.bytes_small_free = small_.free_bytes();
  stats.bytes_created = journal_.inventory().bytes_created();
  stats.bytes_released = journal_.inventory().bytes_released();
  stats.num_free_pieces = CountFree(memory_.space);
  stats.num_blocks = memory_.blocks.count();
  stats.num_stitched_ranges = memory_.ranges.count();
  stats.num_ranges = stats.num_stitched_ranges + static_cast<int64_t>(memory_.blocks.ranges().size());
  stats.num_reclaimed_ranges = reclaimer_.num_reclaimed();
  stats.num_stream_waits = order_.waits();
  stats.driver_calls = driver_.calls();
  stats.bytes_addresses = memory_.address_bytes();
  stats.num_reservations = memory_.addresses.num_reservations() + static_cast<int64_t>(memory_.blocks.ranges().size());
  if (device.ok()) AddDevice(*device, &stats);
  return stats;
}

Snapshot Allocator::TakeSnapshot(Recording* recording) {
  const StatusOr<DeviceMemory> device = driver_.QueryMemory();
  std::lock_guard<std::mutex> lock(mutex_);
  Snapshot snapshot;
  snapshot.stats = StatsUnderLock(device);
  snapshot.time_ns = MonotonicNs();
  journal_.inventory().CopyTo(&snapshot);
  leases_.ForEach(
      [&](Address address, ChunkId chunk) { snapshot.leases.push_back(RowOf(address, chunk, LeaseState::kLive)); });
  for (const PendingFree& free : pending_) {
    snapshot.leases.push_back(RowOf(memory_.chunks[free.chunk].address, free.chunk, LeaseState::kPending));
  }
  std::sort(snapshot.leases.begin(), snapshot.leases.end(),
            [](const LeaseRow& a, const LeaseRow& b) { return a.address < b.address; });
  MarkDoubts(&snapshot);
  if (recording != nullptr) *recording = journal_.recorder().Read();
  return snapshot;
}

LeaseRow Allocator::RowOf(Address address, ChunkId chunk, LeaseState state) const {
  const LeaseNote& note = journal_.note(chunk);
  LeaseRow row;
  row.address = address.value();
  row.size = PlacedSize(chunk).count();
  row.requested = memory_.chunks[chunk].requested.count();
  row.stream = reinterpret_cast<uint64_t>(note.stream.value);
  row.time_ns = note.time_ns;
  row.range = journal_.inventory().RangeAt(address);
  row.annotation = note.label;
  row.state = state;
  row.way = WayNumber(note.way);
  return row;
}

// In doubt is what the driver holds for us and no table of ours counts on.
void Allocator::MarkDoubts(Snapshot* snapshot) const {
  std::vector<int32_t> sound;
  memory_.blocks.ForEach([&](BlockId id) {
    const Block& block = memory_.blocks[id];
    if (!block.quarantined) sound.push_back(journal_.inventory().BlockNumber(block.handle.value));
  });
  std::sort(sound.begin(), sound.end());
  for (BlockRow& block : snapshot->blocks) {
    block.quarantined = std::binary_search(sound.begin(), sound.end(), block.id) ? 0 : 1;
  }
}

void Allocator::Record(int64_t max_events) {
  std::lock_guard<std::mutex> lock(mutex_);
  if (max_events > 0) {
    journal_.StartRecording(std::min(max_events, kMostEvents));
  } else {
    journal_.StopRecording();
  }
}

bool Allocator::is_recording() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return journal_.recorder().is_on();
}

void Allocator::MarkMoment() {
  std::lock_guard<std::mutex> lock(mutex_);
  journal_.OnEvent(EventKind::kMark, Bytes(0));
}

int64_t Allocator::BeginTrack(const std::string& name) {
  std::lock_guard<std::mutex> lock(mutex_);
  Bytes in_use(0);
  leases_.ForEach([&](Address, ChunkId chunk) {
    if (name.empty() || HasName(journal_.note(chunk).label, name)) in_use += PlacedSize(chunk);
  });
  return journal_.tracks().Begin(name, in_use);
}

bool Allocator::ReadTrack(int64_t id, TrackStats* stats, bool end) {
  std::lock_guard<std::mutex> lock(mutex_);
  if (!journal_.tracks().Read(id, stats)) return false;
  return !end || journal_.tracks().End(id);
}

}  // namespace gmlake
