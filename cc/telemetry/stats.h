// What one device's allocator says of itself: plain numbers, taken at one instant under one lock.
//
// docs/stats.md defines every field for users; this header is where the words are fixed. Sizes are bytes, times are
// microseconds, counts are since the allocator was made unless a comment says otherwise.
#ifndef GMLAKE_TELEMETRY_STATS_H_
#define GMLAKE_TELEMETRY_STATS_H_

#include <cstdint>

#include "cc/base/bytes.h"

namespace gmlake {

// The ways to serve a request. A request is counted under exactly one of them.
enum class Way { kSmall, kReuse, kSplit, kStitch, kGrow };
inline constexpr int kNumWays = 5;

struct WayStats {
  int64_t count = 0;
  Bytes bytes;
};

// Driver calls by kind, with the time spent in them all together.
struct DriverCallStats {
  int64_t create = 0;
  int64_t map = 0;
  int64_t set_access = 0;
  int64_t unmap = 0;
  int64_t release = 0;
  int64_t reserve = 0;
  int64_t free_address = 0;
  int64_t record_event = 0;
  double time_us = 0;

  int64_t memory_calls() const { return create + map + set_access + unmap + release + reserve + free_address; }
};

struct AllocatorStats {
  Bytes bytes_in_use;          // leased to callers, as placed (after rounding)
  Bytes bytes_requested;       // leased to callers, as asked for
  Bytes peak_bytes_in_use;     // highest bytes_in_use since start or reset
  Bytes peak_bytes_requested;  // highest bytes_requested since start or reset
  Bytes bytes_reserved;        // physical blocks held, live or idle
  Bytes peak_bytes_reserved;   // highest bytes_reserved since start or reset
  Bytes bytes_mapped;          // sum of all mappings; exceeds bytes_reserved where blocks have aliases
  Bytes bytes_limit;           // bytes_reserved never exceeds this
  Bytes bytes_quarantined;     // in doubt after a driver error: held, not reused
  Bytes bytes_asleep;          // leased, but without physical memory until the device wakes
  Bytes bytes_on_host;         // page-locked host memory held for sleeping
  Bytes bytes_pending;         // freed on another stream, waiting for an event
  Bytes largest_alloc_size;    // largest request ever served
  Bytes largest_free_block;    // largest contiguous idle piece
  Bytes largest_servable;      // largest request that would succeed now, stitching and growth included
  Bytes bytes_stitchable;      // largest request that free blocks alone would serve, stitched
  Bytes bytes_small_free;      // idle inside the slabs of the small pool: for small requests only
  Bytes bytes_created;         // of all physical blocks ever created
  Bytes bytes_released;        // of all physical blocks given back to the device
  Bytes bytes_addresses;       // addresses reserved with the driver, which cost no memory
  Bytes bytes_device_total;    // physical memory of the device; 0: it was not asked
  Bytes bytes_device_free;     // what nobody holds, by the driver
  Bytes bytes_outside;         // neither free nor bytes_reserved: of other processes, contexts, libraries

  int64_t num_allocs = 0;  // requests served
  int64_t num_frees = 0;
  int64_t num_live = 0;
  int64_t num_failures = 0;       // requests refused for want of memory
  int64_t num_soft_failures = 0;  // of these, those that no error of the program was about (so far)
  int64_t num_blocks = 0;         // physical blocks held
  int64_t num_ranges = 0;         // primitive and stitched
  int64_t num_reservations = 0;   // of addresses, with the driver; ranges share them
  int64_t num_stitched_ranges = 0;
  int64_t num_reclaimed_ranges = 0;
  int64_t num_quarantined_blocks = 0;
  int64_t num_free_pieces = 0;   // contiguous idle pieces outside the small pool
  int64_t num_stream_waits = 0;  // waits put between streams so that memory could change hands
  int64_t num_device_waits = 0;  // times a thread waited for the device so that memory could be mapped elsewhere

  WayStats by_way[kNumWays];
  DriverCallStats driver_calls;
};

}  // namespace gmlake

#endif  // GMLAKE_TELEMETRY_STATS_H_
