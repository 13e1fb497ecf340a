#include "cc/core/block_table.h"

#include <algorithm>
#include <utility>

namespace gmlake {

BlockId BlockTable::Add(BlockHandle handle, Address home, Bytes size, ChunkId first_chunk) {
  Block block{handle, home, size, first_chunk, {}, /*seams=*/0, /*pinned=*/false};
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

void BlockTable::Repoint(Address from, Address to, ChunkId chunk) {
  const PrimitiveRange& range = *RangeOf(from);
  size_t granule = GranuleOf(range, from - Bytes(1) + granularity_);
  const size_t end = std::min(range.granules.size(), GranuleOf(range, to - Bytes(1)) + 1);
  while (granule < end && range.granules[granule] != kNone) {
    Block& block = blocks_[range.granules[granule]];
    if (block.home >= from) block.first_chunk = chunk;
    granule = GranuleOf(range, block.end());
  }
}

void BlockTable::Mark(const Block& block, BlockId id) {
  PrimitiveRange& range = const_cast<PrimitiveRange&>(*RangeOf(block.home));
  const size_t first = GranuleOf(range, block.home);
  const size_t last = first + static_cast<size_t>(block.size.count() >> shift_);
  if (range.granules.size() < last) range.granules.resize(last, kNone);
  std::fill(range.granules.begin() + first, range.granules.begin() + last, id);
}

}  // namespace gmlake
