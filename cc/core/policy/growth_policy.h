// How much to grow and in which block sizes: pure arithmetic, no state.
//
// A block of up to about 128 MiB costs the driver the same whatever its size, so large blocks are cheap. A block is
// mapped whole, so a large one wastes more where a lease ends inside it. Blocks are therefore large where much memory
// is in use and for large requests, and become smaller near the limit, down to a granule. The blocks of a large request
// add up to it exactly. Small requests share blocks until shared blocks exceed a small part of the limit; then each
// gets its own.
#ifndef GMLAKE_CORE_POLICY_GROWTH_POLICY_H_
#define GMLAKE_CORE_POLICY_GROWTH_POLICY_H_

#include <vector>

#include "cc/base/bytes.h"
#include "cc/core/tables/thresholds.h"

namespace gmlake {

// What growth is decided on, all of it known before the request is served.
struct GrowthInput {
  Bytes granularity;
  Bytes reserved;  // physical bytes held now
  Bytes limit;
  Bytes peak;     // most bytes ever leased at once, the present request included
  Bytes seamed;   // bytes of blocks with seams
  Bytes request;  // the request's size
  Thresholds thresholds = {};
};

// Bytes that may be created merely to save a stitch.
Bytes GrowthAllowance(const GrowthInput& input);

// The largest block to create.
Bytes LargestBlock(const GrowthInput& input);

// How much to create when `deficit` is needed: a whole large block where small requests will share it and the allowance
// has the room, else as little as possible.
Bytes GrowthAmount(const GrowthInput& input, Bytes deficit);

// `total` rounded up to granules, as blocks: as many of `largest` as fit, and one for the rest. Where a lease of
// `total` would end inside the last granule, that granule is a block of its own.
std::vector<Bytes> BlockSizes(Bytes total, Bytes largest, Bytes granularity);

}  // namespace gmlake

#endif  // GMLAKE_CORE_POLICY_GROWTH_POLICY_H_
