#include "cc/core/block_table.h"

#include <algorithm>
#include <utility>

namespace gmlake {

BlockId BlockTable::Add(BlockHandle handle, Address home, Bytes size, ChunkId first_chunk) {
  Block block{handle, home, size, first_chunk, {}, /*pinned=*/false};
  BlockId id = static_cast<BlockId>(blocks_.size());
  if (!unused_.empty()) {
    id = unused_.back();
    unused_.pop_back();
    blocks_[id] = std::move(block);
  } else {
    blocks_.push_back(std::move(block));
  }
  bytes_ += size;
  Mark(blocks_[id], id);
  return id;
}

void BlockTable::Remove(BlockId id) {
  Mark(blocks_[id], kNone);
  bytes_ -= blocks_[id].size;
  blocks_[id] = Block();
  unused_.push_back(id);
}

BlockId BlockTable::At(Address address) const {
  const PrimitiveRange* range = RangeOf(address);
  if (range == nullptr) return kNone;
  const size_t granule = static_cast<size_t>((address - range->base) / granularity_);
  return granule < range->granules.size() ? range->granules[granule] : kNone;
}

void BlockTable::Repoint(Address from, Address to, ChunkId chunk) {
  Address at = Address() + AlignUp(from - Address(), granularity_);
  while (at < to) {
    const BlockId id = At(at);
    if (id == kNone) return;
    if (blocks_[id].home == at) blocks_[id].first_chunk = chunk;
    at = blocks_[id].end();
  }
}

const PrimitiveRange* BlockTable::RangeOf(Address address) const {
  for (const PrimitiveRange& range : ranges_) {
    if (range.base <= address && address < range.base + range.size) return &range;
  }
  return nullptr;
}

void BlockTable::Mark(const Block& block, BlockId id) {
  PrimitiveRange& range = const_cast<PrimitiveRange&>(*RangeOf(block.home));
  const size_t first = static_cast<size_t>((block.home - range.base) / granularity_);
  const size_t last = first + static_cast<size_t>(block.size / granularity_);
  if (range.granules.size() < last) range.granules.resize(last, kNone);
  std::fill(range.granules.begin() + first, range.granules.begin() + last, id);
}

}  // namespace gmlake
