#include "cc/core/sleep/mapping_switch.h"

#include <algorithm>
#include <unordered_set>

namespace gmlake {

void MappingSwitch::Plan(bool down) {
  blocks_.clear();
  runs_.clear();
  mapped_bytes_ = Bytes(0);
  is_down_ = down;
  memory_->blocks.ForEach([&](BlockId id) {
    if (!IsMovable(id)) return;
    blocks_.push_back(id);
    mapped_bytes_ += memory_->blocks[id].size;
    const bool follows =
        !runs_.empty() && memory_->blocks[runs_.back().blocks.back()].end() == memory_->blocks[id].home;
    if (!follows) runs_.push_back({memory_->blocks[id].home, {}, 0});
    runs_.back().blocks.push_back(id);
    if (!down) ++runs_.back().mapped;
  });
  memory_->ranges.ForEach([&](RangeId id) { AddRuns(memory_->ranges[id].base, memory_->ranges[id].blocks, down); });
}

// A mapping that once would not come off is better left alone, and so is whatever lies in a range with one.
bool MappingSwitch::IsMovable(BlockId id) const {
  const Block& block = memory_->blocks[id];
  return !block.pinned && std::none_of(block.aliases.begin(), block.aliases.end(),
                                       [&](RangeId range) { return memory_->ranges[range].quarantined; });
}

void MappingSwitch::AddRuns(Address at, const std::vector<BlockId>& blocks, bool down) {
  bool open = false;
  for (BlockId id : blocks) {
    const bool movable = IsMovable(id);
    if (movable && !open) runs_.push_back({at, {}, 0});
    if (movable) {
      runs_.back().blocks.push_back(id);
      if (!down) ++runs_.back().mapped;
      mapped_bytes_ += memory_->blocks[id].size;
    }
    open = movable;
    at = at + memory_->blocks[id].size;
  }
}

Status MappingSwitch::UnmapAll() {
  for (auto run = runs_.rbegin(); run != runs_.rend(); ++run) {
    GMLAKE_RETURN_IF_ERROR(Unmap(&*run));
  }
  ReleaseUnmapped();
  is_down_ = true;
  return OkStatus();
}

Status MappingSwitch::MapAll() {
  is_down_ = false;
  for (BlockId id : blocks_) {
    GMLAKE_RETURN_IF_ERROR(Fill(id));
  }
  for (Run& run : runs_) {
    GMLAKE_RETURN_IF_ERROR(Map(&run));
  }
  return OkStatus();
}

void MappingSwitch::Abandon() {
  bool all = true;
  for (Run& run : runs_) all = Unmap(&run).ok() && all;
  ReleaseUnmapped();
  is_down_ = all;
}

Bytes MappingSwitch::MappedOf(const Run& run) const {
  Bytes size;
  for (size_t i = 0; i < run.mapped; ++i) size += memory_->blocks[run.blocks[i]].size;
  return size;
}

Status MappingSwitch::Unmap(Run* run) {
  if (run->mapped == 0) return OkStatus();
  const Status unmapped = driver_->Unmap(run->at, MappedOf(*run));
  if (unmapped.ok()) run->mapped = 0;
  return unmapped;
}

Status MappingSwitch::Map(Run* run) {
  Address at = run->at + MappedOf(*run);
  for (; run->mapped < run->blocks.size(); ++run->mapped) {
    const Block& block = memory_->blocks[run->blocks[run->mapped]];
    GMLAKE_RETURN_IF_ERROR(driver_->Map(at, block.size, block.handle));
    at = at + block.size;
  }
  const Bytes size = MappedOf(*run);
  const Status opened = driver_->SetAccess(run->at, size);
  // CUDA documents that this may fail for a moment.
  return opened.code() == StatusCode::kNotReady ? driver_->SetAccess(run->at, size) : opened;
}

// A block that the driver does not take back keeps its memory, and is there when memory is put back.
void MappingSwitch::ReleaseUnmapped() {
  std::unordered_set<BlockId> mapped;
  for (const Run& run : runs_) mapped.insert(run.blocks.begin(), run.blocks.begin() + static_cast<int64_t>(run.mapped));
  for (BlockId id : blocks_) {
    Block& block = memory_->blocks[id];
    if (!HasMemory(id) || mapped.count(id) != 0) continue;
    if (!driver_->Release(block.handle).ok()) continue;
    block.handle = BlockHandle();
    memory_->asleep += block.size;
  }
}

Status MappingSwitch::Fill(BlockId id) {
  if (HasMemory(id)) return OkStatus();
  Block& block = memory_->blocks[id];
  GMLAKE_ASSIGN_OR_RETURN(const BlockHandle created, driver_->Create(block.size));
  block.handle = created;
  memory_->asleep -= block.size;
  return OkStatus();
}

}  // namespace gmlake
