#include "cc/core/mapping/reclaimer.h"

#include <algorithm>

namespace gmlake {

bool Reclaimer::OverBudget(const ReclaimBudget& budget) const {
  return memory_->ranges.mappings() > budget.mappings || memory_->ranges.mapped_bytes() > budget.bytes ||
         IsOverAddressBudget(*memory_);
}

void Reclaimer::EnforceBudget(const ReclaimBudget& budget) {
  UnmapIdleUntil([&] { return !OverBudget(budget); });
}

std::vector<RangeId> Reclaimer::IdleRanges() const {
  std::vector<RangeId> idle;
  memory_->ranges.ForEach([&](RangeId id) {
    if (IsIdleRange(id)) idle.push_back(id);
  });
  std::stable_sort(idle.begin(), idle.end(),
                   [&](RangeId a, RangeId b) { return memory_->ranges[a].last_use < memory_->ranges[b].last_use; });
  return idle;
}

Bytes Reclaimer::Trim(Bytes target) {
  std::vector<BlockId> blocks;
  memory_->blocks.ForEach([&](BlockId id) { blocks.push_back(id); });
  Bytes given(0);
  for (auto id = blocks.rbegin(); id != blocks.rend() && memory_->reserved() > target; ++id) {
    if (!IsIdle(*id)) continue;
    const Bytes size = memory_->blocks[*id].size;
    if (Release(*id)) given += size;
  }
  arenas_.FreeUnused();
  return given;
}

void Reclaimer::ReleaseAll() {
  EnforceBudget({/*mappings=*/0, /*bytes=*/Bytes(0)});
  Trim(Bytes(0));
  for (const PrimitiveRange& range : memory_->blocks.ranges()) {
    const Bytes reserved = range.size + memory_->blocks.granularity();
    if (IsEmpty(range)) driver_->FreeAddress(range.base, reserved).IgnoreError();  // nobody is left to tell
  }
}

// All bytes free, and the device done with them, by whatever address they were used.
bool Reclaimer::IsIdle(BlockId id) const {
  const Block& block = memory_->blocks[id];
  const bool done = memory_->chunks[memory_->blocks.ChunkAt(block.home)].freed <= order_->proven();
  return done && !block.pinned && memory_->IsFree(id) &&
         std::none_of(block.aliases.begin(), block.aliases.end(),
                      [&](RangeId range) { return memory_->ranges[range].quarantined; });
}

bool Reclaimer::IsIdleRange(RangeId id) const {
  const StitchedRange& range = memory_->ranges[id];
  return range.leases == 0 && range.freed <= order_->proven();
}

bool Reclaimer::Release(BlockId id) {
  while (!memory_->blocks[id].aliases.empty()) {
    if (!Detach(id, memory_->blocks[id].aliases.back())) return false;
  }
  const Block block = memory_->blocks[id];
  if (!driver_->Unmap(block.home, block.size).ok()) {
    QuarantineBlock(id);
    return false;
  }
  const ChunkId chunk = memory_->blocks.ChunkAt(block.home);
  memory_->space.Depopulate(chunk, block.home - memory_->chunks[chunk].address, block.size);
  memory_->blocks.Remove(id);
  if (driver_->Release(block.handle).ok()) return true;
  memory_->unreleased.bytes += block.size;
  ++memory_->unreleased.blocks;
  return false;
}

// A range that may be in use through other blocks loses this one only.
bool Reclaimer::Detach(BlockId block, RangeId range) {
  const bool is_only_one = memory_->ranges[range].blocks.size() == 1;
  return is_only_one || IsIdleRange(range) ? Unmap(range) : CutOut(block, range);
}

bool Reclaimer::Unmap(RangeId id) {
  const StitchedRange& range = memory_->ranges[id];
  if (!driver_->Unmap(range.base, range.size).ok()) return QuarantineRange(id), false;
  ++num_reclaimed_;
  memory_->addresses.Give(memory_->ranges.Remove(id));
  if (IsOverAddressBudget(*memory_)) arenas_.FreeUnused();
  return true;
}

bool Reclaimer::CutOut(BlockId block, RangeId id) {
  const Address address = memory_->ranges[id].base + memory_->ranges.OffsetOf(id, block);
  if (!driver_->Unmap(address, memory_->blocks[block].size).ok()) return QuarantineRange(id), false;
  memory_->addresses.Give(memory_->ranges.CutOut(id, block));
  return true;
}

// The range stays mapped, so its blocks must stay too: a lease that nobody holds keeps it from being touched again.
void Reclaimer::QuarantineRange(RangeId id) {
  ++memory_->ranges[id].leases;
  memory_->ranges[id].quarantined = true;
  memory_->ranges.RemoveCachedStitches(id);
  ++memory_->unreleased.ranges;
}

// The block stays mapped and its bytes are taken for good.
void Reclaimer::QuarantineBlock(BlockId id) {
  const Block& block = memory_->blocks[id];
  memory_->Take({Piece{id, Bytes(0), block.size}});
  memory_->blocks[id].pinned = true;
  memory_->blocks[id].quarantined = true;
  memory_->quarantined_blocks += block.size;
  ++memory_->num_quarantined_blocks;
}

// Nothing is mapped in the range: it is one hole again.
bool Reclaimer::IsEmpty(const PrimitiveRange& range) const {
  const std::vector<ChunkId>& holes = memory_->space.holes();
  return std::any_of(holes.begin(), holes.end(), [&](ChunkId id) {
    return memory_->chunks[id].address == range.base && memory_->chunks[id].size == range.size;
  });
}

}  // namespace gmlake
