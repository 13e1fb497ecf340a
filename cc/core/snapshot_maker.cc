#include "cc/core/snapshot_maker.h"

#include <algorithm>
#include <vector>

namespace gmlake {
namespace {

// The bytes that could still be created. `headroom`: what the limit allows.
Bytes Growth(Bytes headroom, const StatusOr<DeviceMemory>& device, Bytes granularity) {
  return AlignDown(device.ok() ? std::min(headroom, device->free) : headroom, granularity);
}

void AddDevice(const DeviceMemory& device, AllocatorStats* stats) {
  stats->bytes_device_total = device.total;
  stats->bytes_device_free = device.free;
  stats->bytes_outside = std::max(device.total - device.free - stats->bytes_reserved, Bytes(0));
}

int64_t CountFree(const ChunkList& space) {
  int64_t count = 0;
  space.ForEachFree([&count](const Chunk&) { ++count; });
  return count;
}

}  // namespace

AllocatorStats SnapshotMaker::Stats(const StatusOr<DeviceMemory>& device) const {
  AllocatorStats stats = parts_.books.kept();
  AddSizes(&stats);
  AddServable(device, &stats);
  AddCounts(&stats);
  if (device.ok()) AddDevice(*device, &stats);
  return stats;
}

void SnapshotMaker::AddSizes(AllocatorStats* stats) const {
  const Memory& memory = parts_.memory;
  stats->bytes_reserved = memory.reserved();
  stats->bytes_mapped = memory.blocks.bytes() + memory.ranges.mapped_bytes() - parts_.sleeper.unmapped();
  stats->bytes_asleep = memory.asleep;
  stats->bytes_on_host = parts_.sleeper.on_host();
  stats->bytes_quarantined = memory.unreleased.bytes + memory.quarantined_blocks;
  stats->bytes_pending = parts_.pending.bytes();
  stats->bytes_small_free = parts_.small.free_bytes();
  stats->bytes_created = parts_.journal.inventory().bytes_created();
  stats->bytes_released = parts_.journal.inventory().bytes_released();
  stats->bytes_addresses = memory.address_bytes();
}

// A stitch takes whole blocks, and growth adds to it. A free piece inside a block serves only what fits into it.
void SnapshotMaker::AddServable(const StatusOr<DeviceMemory>& device, AllocatorStats* stats) const {
  if (!parts_.sleeper.awake()) return;
  const Memory& memory = parts_.memory;
  const Bytes stitchable = parts_.placer.stitcher().Available();
  const Bytes growth = Growth(parts_.books.limit() - memory.reserved(), device, memory.blocks.granularity());
  stats->largest_free_block = memory.space.LargestFree();
  stats->bytes_stitchable = std::max(stats->largest_free_block, stitchable);
  stats->largest_servable = std::max(stats->largest_free_block, stitchable + growth);
}

void SnapshotMaker::AddCounts(AllocatorStats* stats) const {
  const Memory& memory = parts_.memory;
  const int64_t primitive_ranges = static_cast<int64_t>(memory.blocks.ranges().size());
  stats->num_live = parts_.leases.count();
  stats->num_blocks = memory.blocks.count();
  stats->num_quarantined_blocks = memory.unreleased.blocks + memory.num_quarantined_blocks;
  stats->num_free_pieces = CountFree(memory.space);
  stats->num_stitched_ranges = memory.ranges.count();
  stats->num_ranges = stats->num_stitched_ranges + primitive_ranges;
  stats->num_reservations = memory.addresses.num_reservations() + primitive_ranges;
  stats->num_reclaimed_ranges = parts_.reclaimer.num_reclaimed();
  stats->num_stream_waits = parts_.order.waits();
  stats->driver_calls = parts_.driver.calls();
}

Snapshot SnapshotMaker::Take(const StatusOr<DeviceMemory>& device) const {
  Snapshot snapshot;
  snapshot.stats = Stats(device);
  snapshot.time_ns = MonotonicNs();
  parts_.journal.inventory().CopyTo(&snapshot);
  AddLeases(&snapshot);
  MarkDoubts(&snapshot);
  return snapshot;
}

void SnapshotMaker::AddLeases(Snapshot* snapshot) const {
  std::vector<LeaseRow>& rows = snapshot->leases;
  parts_.leases.ForEach(
      [&](Address address, ChunkId chunk) { rows.push_back(RowOf(address, chunk, LeaseState::kLive)); });
  parts_.pending.ForEach(
      [&](ChunkId chunk) { rows.push_back(RowOf(parts_.memory.chunks[chunk].address, chunk, LeaseState::kPending)); });
  std::sort(rows.begin(), rows.end(), [](const LeaseRow& a, const LeaseRow& b) { return a.address < b.address; });
}

LeaseRow SnapshotMaker::RowOf(Address address, ChunkId chunk, LeaseState state) const {
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

// Marks the blocks that the driver still holds and the block table no longer uses.
void SnapshotMaker::MarkDoubts(Snapshot* snapshot) const {
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

}  // namespace gmlake
