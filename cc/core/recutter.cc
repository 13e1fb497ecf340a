#include "cc/core/recutter.h"

#include <algorithm>
#include <limits>

#include "cc/driver/transaction.h"

namespace gmlake {

bool Recutter::Recut(Bytes size, Bytes cut, const std::vector<BlockId>& taken) {
  order_->Poll(memory_->ticks());
  const BlockId block = Cheapest(size, taken);
  if (block == kNone) return false;
  const Address home = memory_->blocks[block].home;
  if (!reclaimer_->Release(block)) return false;
  const Fill fill = PlanFill(home, size, cut);
  return grower_.Create(fill, nullptr).ok();
}

BlockId Recutter::Cheapest(Bytes size, const std::vector<BlockId>& taken) const {
  BlockId cheapest = kNone;
  int64_t least = std::numeric_limits<int64_t>::max();
  for (BlockId id : Stitcher(memory_).WholeBlocks(size)) {
    if (!reclaimer_->IsIdle(id) || std::find(taken.begin(), taken.end(), id) != taken.end()) continue;
    const int64_t mappings = MappingsOver(memory_->blocks[id]);
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
  Fill fill{memory_->HoleAt(home), home, size, BlockSizes(cut, cut, granularity)};
  const Bytes rest = size - AlignUp(cut, granularity);
  if (rest > Bytes(0)) fill.sizes.push_back(rest);
  return fill;
}

}  // namespace gmlake
