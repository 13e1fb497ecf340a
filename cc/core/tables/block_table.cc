#include "cc/core/tables/block_table.h"

#include <utility>

namespace gmlake {

BlockId BlockTable::Add(BlockHandle handle, Address home, Bytes size) {
  Block block{handle, home, size, {}, /*seams=*/0, /*pinned=*/false};
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

void BlockTable::Reach(PrimitiveRange* range, size_t granules) {
  range->granules.resize(granules);
  range->marks.resize((granules + 63) / 64);
}

void BlockTable::Mark(const Block& block, BlockId id) {
  PrimitiveRange* range = RangeOf(block.home);
  const size_t first = GranuleOf(*range, block.home);
  const size_t end = first + static_cast<size_t>(block.size.count() >> shift_);
  if (range->granules.size() < end) Reach(range, end);
  for (size_t granule = first; granule < end; ++granule) range->granules[granule].block = id;
}

}  // namespace gmlake
