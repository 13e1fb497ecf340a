#include "cc/telemetry/inventory.h"

#include <algorithm>

namespace gmlake {

void Inventory::Tell(EventKind kind, Address address, Bytes size, int32_t range, int32_t block) {
  if (!recorder_->is_on()) return;
  Event event;
  event.kind = kind;
  event.address = address.value();
  event.size = size.count();
  event.range = range;
  event.block = block;
  recorder_->Add(event, MonotonicNs());
}

void Inventory::OnCreate(uint64_t handle, Bytes size) {
  blocks_[handle] = {next_block_++, size, 0, false};
  bytes_created_ += size;
  Tell(EventKind::kCreate, Address(), size, kNoNumber, blocks_[handle].number);
}

void Inventory::OnRelease(uint64_t handle) {
  const auto block = blocks_.find(handle);
  if (block == blocks_.end()) return;
  block->second.released = true;
  DropIfGone(block);
}

void Inventory::DropIfGone(std::unordered_map<uint64_t, Block>::iterator block) {
  if (!block->second.released || block->second.mappings > 0) return;
  bytes_released_ += block->second.size;
  Tell(EventKind::kRelease, Address(), block->second.size, kNoNumber, block->second.number);
  blocks_.erase(block);
}

void Inventory::OnReserve(Address address, Bytes size) {
  ranges_[address] = {next_range_++, size, false, false, Bytes(0)};
}

void Inventory::OnFreeAddress(Address address, Bytes size) {
  const auto found = FindRange(address);
  if (found == ranges_.end()) return;
  const Address base = found->first;
  const Range whole = found->second;
  const Bytes before = address - base;
  const Bytes behind = whole.size - before - size;
  ranges_.erase(found);
  if (before > Bytes(0)) ranges_[base] = PartOf(whole, Bytes(0), before);
  if (behind > Bytes(0)) ranges_[address + size] = PartOf(whole, before + size, behind);
  if (before > Bytes(0) && behind > Bytes(0)) Renumber(address + size);
  if (before == Bytes(0) && behind == Bytes(0)) Tell(EventKind::kDrop, base, size, whole.number, kNoNumber);
}

Inventory::Range Inventory::PartOf(Range range, Bytes from, Bytes size) {
  range.mapped = std::clamp(range.mapped - from, Bytes(0), size);
  range.size = size;
  return range;
}

// Told as if its mappings had moved to a new range.
void Inventory::Renumber(Address base) {
  Range& range = ranges_[base];
  TellMappings(EventKind::kUnmap, base, range);
  range.number = next_range_++;
  if (range.is_known) Classify(base, &range, range.is_stitched);
  TellMappings(EventKind::kMap, base, range);
}

void Inventory::TellMappings(EventKind kind, Address base, const Range& range) {
  for (auto it = mappings_.lower_bound(base); it != mappings_.end() && it->first < base + range.size; ++it) {
    Tell(kind, it->first, it->second.size, range.number, BlockNumber(it->second.handle));
  }
}

void Inventory::Classify(Address base, Range* range, bool is_stitched) {
  range->is_known = true;
  range->is_stitched = is_stitched;
  Tell(is_stitched ? EventKind::kStitch : EventKind::kReserve, base, range->size, range->number, kNoNumber);
}

void Inventory::OnMap(Address address, Bytes size, uint64_t handle) {
  const auto block = blocks_.find(handle);
  const auto found = FindRange(address);
  if (block == blocks_.end() || found == ranges_.end()) return;
  const Address base = found->first;
  Range& range = ranges_[base];
  if (!range.is_known) Classify(base, &range, block->second.mappings > 0);
  range.mapped = std::max(range.mapped, address + size - base);
  mappings_[address] = {handle, size};
  ++block->second.mappings;
  Tell(EventKind::kMap, address, size, range.number, block->second.number);
}

void Inventory::OnUnmap(Address address, Bytes size) {
  auto mapping = mappings_.lower_bound(address);
  while (mapping != mappings_.end() && mapping->first < address + size) {
    const auto block = blocks_.find(mapping->second.handle);
    Tell(EventKind::kUnmap, mapping->first, mapping->second.size, RangeAt(mapping->first), block->second.number);
    --block->second.mappings;
    DropIfGone(block);
    mapping = mappings_.erase(mapping);
  }
}

Inventory::Ranges::const_iterator Inventory::FindRange(Address address) const {
  auto after = ranges_.upper_bound(address);
  if (after == ranges_.begin()) return ranges_.end();
  --after;
  return address < after->first + after->second.size ? after : ranges_.end();
}

int32_t Inventory::RangeAt(Address address) const {
  const auto range = FindRange(address);
  return range == ranges_.end() ? kNoNumber : range->second.number;
}

int32_t Inventory::BlockNumber(uint64_t handle) const {
  const auto block = blocks_.find(handle);
  return block == blocks_.end() ? kNoNumber : block->second.number;
}

void Inventory::CopyTo(Snapshot* snapshot) const {
  for (const auto& [address, range] : ranges_) {
    snapshot->ranges.push_back({range.number, range.is_stitched, address.value(), range.mapped.count()});
  }
  for (const auto& [handle, block] : blocks_) snapshot->blocks.push_back({block.number, 0, block.size.count()});
  std::sort(snapshot->blocks.begin(), snapshot->blocks.end(),
            [](const BlockRow& a, const BlockRow& b) { return a.id < b.id; });
  for (const auto& [address, mapping] : mappings_) {
    snapshot->mappings.push_back({RangeAt(address), blocks_.at(mapping.handle).number, address.value()});
  }
}

}  // namespace gmlake
