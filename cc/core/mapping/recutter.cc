#include "cc/core/mapping/recutter.h"

#include <algorithm>
#include <limits>

#include "cc/driver/transaction.h"

namespace gmlake {

Address Recutter::Recut(Bytes size, Bytes cut, const std::vector<BlockId>& taken, RangeId spared) {
  order_->Poll(memory_->epoch());
  const BlockId block = Cheapest(size, taken, spared);
  if (block == kNone) return Address();
  const Address home = memory_->blocks[block].home;
  if (!reclaimer_->Release(block)) return Address();
  Fill fill = PlanFill(home, size, cut);
  return grower_.Create(&fill, nullptr).ok() ? home : Address();
}

BlockId Recutter::Cheapest(Bytes size, const std::vector<BlockId>& taken, RangeId spared) const {
  const auto contains = [](const auto& items, auto item) {
    return std::find(items.begin(), items.end(), item) != items.end();
  };
  BlockId cheapest = kNone;
  int64_t least = std::numeric_limits<int64_t>::max();
  for (const FreeBlock& free : Stitcher(memory_).WholeBlocks(size)) {
    const BlockId id = free.block;
    const Block& block = memory_->blocks[id];
    if (!reclaimer_->IsIdle(id) || contains(taken, id) || contains(block.aliases, spared)) continue;
    const int64_t mappings = MappingsOver(block);
    if (mappings >= least) continue;
    cheapest = id;
    least = mappings;
  }
  return cheapest;
}

int64_t Recutter::MappingsOver(const Block& block) const {
  int64_t mappings = 0;
  for (RangeId id : block.aliases) mappings += static_cast<int64_t>(memory_->ranges[id].blocks.size());
  return mappings;
}

Fill Recutter::PlanFill(Address home, Bytes size, Bytes cut) const {
  const Bytes granularity = memory_->blocks.granularity();
  Fill::Part part{memory_->HoleAt(home), home, size, BlockSizes(cut, cut, granularity)};
  const Bytes rest = size - AlignUp(cut, granularity);
  if (rest > Bytes(0)) part.sizes.push_back(rest);
  return {{part}};
}

}  // namespace gmlake
