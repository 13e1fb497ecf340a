// A stitched range: addresses at which blocks are mapped a second time, in an order that makes scattered free bytes one
// contiguous piece.
//
// It owns no bytes. The table of them is range_table.h; where in them there is room is answered by range_room.h.
#ifndef GMLAKE_CORE_RANGES_STITCHED_RANGE_H_
#define GMLAKE_CORE_RANGES_STITCHED_RANGE_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "cc/base/bytes.h"
#include "cc/core/tables/chunk.h"

namespace gmlake {

struct StitchedRange {
  Address base;
  Bytes size;                   // mapped, from the base on
  Bytes reserved;               // addresses that it owns; what is not mapped yet lets the range be extended in place
  std::vector<BlockId> blocks;  // in address order; empty: this number is unused
  std::vector<Bytes> ends;      // where in the range each of them ends
  bool sealed = false;          // something at its end would not come off: it cannot be extended
  bool quarantined = false;     // the driver refused to unmap it, or a part of it: none of its blocks is released
  int leases = 0;               // live leases through this range
  int64_t last_use = 0;         // the allocator's request count
  int64_t freed = 0;            // Memory::epoch() when its last lease ended

  // Where in the range block number `index` begins.
  Bytes StartOf(size_t index) const { return index == 0 ? Bytes(0) : ends[index - 1]; }
  // The number of the block under `offset`.
  size_t IndexAt(Bytes offset) const {
    return static_cast<size_t>(std::upper_bound(ends.begin(), ends.end(), offset) - ends.begin());
  }
  // The number of a block of the range.
  size_t IndexOf(BlockId block) const {
    return static_cast<size_t>(std::find(blocks.begin(), blocks.end(), block) - blocks.begin());
  }
};

}  // namespace gmlake

#endif  // GMLAKE_CORE_RANGES_STITCHED_RANGE_H_
