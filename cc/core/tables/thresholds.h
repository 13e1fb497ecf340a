// Every number that the placing policy depends on, in one place, so that a replay can try others.
//
// docs/tuning.md says why each has its value and shows the curve; `research/threshold_curves.py` draws it.
#ifndef GMLAKE_CORE_TABLES_THRESHOLDS_H_
#define GMLAKE_CORE_TABLES_THRESHOLDS_H_

#include <cstdint>

#include "cc/base/bytes.h"

namespace gmlake {

// Model: plain numbers, fixed for the life of an allocator. "per" numbers divide: a block is at most request /
// request_per_own.
struct Thresholds {
  // Growth to save a stitch is allowed while held bytes stay within this fraction of the peak.
  int64_t peak_per_slack = 64;

  // Small requests share blocks while those with seams are less than this fraction of the limit.
  int64_t limit_per_seams = 128;
  // A shared block is at most this much, this fraction of the peak, and of what the limit still allows.
  Bytes largest_shared = MiB(64);
  int64_t peak_per_shared = 128;
  int64_t headroom_per_shared = 32;

  // A block of a large request is at most this much, this fraction of the request, and of what the limit still allows.
  Bytes largest_own = MiB(256);
  int64_t request_per_own = 8;
  int64_t headroom_per_own = 8;

  // Near the limit: less than this fraction of it is not held yet.
  int64_t limit_per_near = 4;
  // Near the limit, blocks with seams may add up to this fraction of the bytes that were never in use.
  int64_t spare_per_seams = 4;
  // From this many times as much on, a request waits for the device before it makes a seam.
  int64_t seams_before_wait = 2;

  // A free end of a block may finish a stitch if it would leave at most this fraction of itself behind.
  int64_t end_per_leftover = 4;

  // Up to this many stitched ranges are searched one by one. Beyond it, bounds tell which ranges may have room
  // (range_room.h). The result is the same.
  int64_t few_ranges = 128;
};

}  // namespace gmlake

#endif  // GMLAKE_CORE_TABLES_THRESHOLDS_H_
