// Finds room for one request: the ways to serve it, cheapest first.
//
//   split    the best fit in the free chunks;                            no driver call
//   reuse    a recipe: a stitched range that served this size before;    no driver call
//   grow     append blocks, while that keeps within the slack;           create, map, access per block
//   stitch   map scattered free blocks, and new ones for what is missing
//   grow     append blocks up to the limit
//
// The order and every choice depend on what is free and on the request alone, so equal states get equal addresses. One
// lease is taken from the tables on success; on failure tables and driver are as before.
#ifndef GMLAKE_CORE_PLACER_H_
#define GMLAKE_CORE_PLACER_H_

#include <vector>

#include "cc/base/bytes.h"
#include "cc/base/status.h"
#include "cc/core/grower.h"
#include "cc/core/memory.h"
#include "cc/core/stitcher.h"
#include "cc/core/stream_order.h"
#include "cc/telemetry/stats.h"

namespace gmlake {

struct Placement {
  ChunkId chunk = kNone;  // the lease's first chunk
  Address address;
  Way way = Way::kSplit;
};

// Thread rule: the allocator's lock. Cost: see the list above.
class Placer {
 public:
  Placer(Driver* driver, Memory* memory, StreamOrder* order)
      : driver_(driver), memory_(memory), order_(order), grower_(driver, memory), stitcher_(driver, memory) {}

  struct Request {
    Bytes size;
    StreamHandle stream;
    Bytes limit;
    Bytes peak;       // most bytes ever leased, this request included
    int64_t number;   // counts requests
    bool may_stitch;  // false: only addresses of a primitive range will do (slabs)
  };
  StatusOr<Placement> Place(const Request& request);

  // Splits only: room for a slab where there is some already.
  ChunkId TakeContiguous(Bytes size);
  // The smallest free chunk that has `size` bytes, all of it.
  ChunkId TakeFragment(Bytes size);

  const Stitcher& stitcher() const { return stitcher_; }

 private:
  Placement Contiguous(ChunkId free, Bytes size, Way way);
  bool Reuse(const Request& request, Placement* placement);
  StatusOr<Placement> GrowOrStitch(const Request& request);
  StatusOr<Placement> Grow(const Request& request, const Grower::Plan& plan);
  StatusOr<Placement> Stitch(const Request& request, const Selection& selection);
  StatusOr<std::vector<BlockId>> MapStitch(const Request& request, const Selection& selection, Address* base);
  std::vector<Stitcher::Mapping> MappingsOf(const Selection& selection, const Fill& fill,
                                            const std::vector<BlockHandle>& created) const;
  Placement LeaseFrom(RangeId range, Bytes offset, const Request& request, Way way);
  GrowthInput InputOf(const Request& request) const;
  bool Fits(const Request& request, Bytes more) const;

  Driver* driver_;
  Memory* memory_;
  StreamOrder* order_;
  Grower grower_;
  Stitcher stitcher_;
};

}  // namespace gmlake

#endif  // GMLAKE_CORE_PLACER_H_
