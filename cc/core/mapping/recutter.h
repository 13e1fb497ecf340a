// Cuts an idle block into smaller ones in place: releases it and creates blocks that add up to it, with a boundary
// where a lease is to end.
//
// It unmaps, so it takes only a block that the device is proven to be done with, and does not wait for one. Stitched
// ranges over the block go with it. If another process takes the memory in between, the block is simply gone.
#ifndef GMLAKE_CORE_MAPPING_RECUTTER_H_
#define GMLAKE_CORE_MAPPING_RECUTTER_H_

#include <vector>

#include "cc/base/bytes.h"
#include "cc/core/mapping/grower.h"
#include "cc/core/mapping/reclaimer.h"
#include "cc/core/mapping/stream_order.h"
#include "cc/core/policy/stitcher.h"
#include "cc/core/ranges/memory.h"
#include "cc/driver/driver.h"

namespace gmlake {

// Thread rule: the allocator's lock. Cost: an unmap and a release, and 3 calls per new block.
class Recutter {
 public:
  Recutter(Driver* driver, Memory* memory, StreamOrder* order, Reclaimer* reclaimer)
      : driver_(driver), memory_(memory), order_(order), reclaimer_(reclaimer), grower_(driver, memory) {}

  // Cuts a free block of `size`, none of `taken` and none in the range `spared`, so that `cut` of its bytes become
  // blocks of their own. Where they begin; null if there is no such block, or the driver refuses.
  Address Recut(Bytes size, Bytes cut, const std::vector<BlockId>& taken, RangeId spared);

 private:
  // The block whose release destroys the fewest mappings.
  BlockId Cheapest(Bytes size, const std::vector<BlockId>& taken, RangeId spared) const;
  int64_t MappingsOver(const Block& block) const;
  Fill PlanFill(Address home, Bytes size, Bytes cut) const;

  Driver* driver_;
  Memory* memory_;
  StreamOrder* order_;
  Reclaimer* reclaimer_;
  Grower grower_;
};

}  // namespace gmlake

#endif  // GMLAKE_CORE_MAPPING_RECUTTER_H_
