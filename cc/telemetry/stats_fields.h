// The names of the numbers, in the order of stats.h: for whoever shows them all (Python, files), so that none is
// forgotten.
#ifndef GMLAKE_TELEMETRY_STATS_FIELDS_H_
#define GMLAKE_TELEMETRY_STATS_FIELDS_H_

#include <cstdint>

#include "cc/telemetry/stats.h"

namespace gmlake {

template <typename Struct, typename T>
struct StatsField {
  const char* name;
  T Struct::* member;
};

inline constexpr StatsField<AllocatorStats, Bytes> kSizeFields[] = {
    {"bytes_in_use", &AllocatorStats::bytes_in_use},
    {"bytes_requested", &AllocatorStats::bytes_requested},
    {"peak_bytes_in_use", &AllocatorStats::peak_bytes_in_use},
    {"peak_bytes_requested", &AllocatorStats::peak_bytes_requested},
    {"bytes_reserved", &AllocatorStats::bytes_reserved},
    {"peak_bytes_reserved", &AllocatorStats::peak_bytes_reserved},
    {"bytes_mapped", &AllocatorStats::bytes_mapped},
    {"bytes_limit", &AllocatorStats::bytes_limit},
    {"bytes_quarantined", &AllocatorStats::bytes_quarantined},
    {"bytes_asleep", &AllocatorStats::bytes_asleep},
    {"bytes_on_host", &AllocatorStats::bytes_on_host},
    {"bytes_pending", &AllocatorStats::bytes_pending},
    {"largest_alloc_size", &AllocatorStats::largest_alloc_size},
    {"largest_free_block", &AllocatorStats::largest_free_block},
    {"largest_servable", &AllocatorStats::largest_servable},
    {"bytes_stitchable", &AllocatorStats::bytes_stitchable},
    {"bytes_small_free", &AllocatorStats::bytes_small_free},
    {"bytes_created", &AllocatorStats::bytes_created},
    {"bytes_released", &AllocatorStats::bytes_released},
    {"bytes_addresses", &AllocatorStats::bytes_addresses},
    {"bytes_device_total", &AllocatorStats::bytes_device_total},
    {"bytes_device_free", &AllocatorStats::bytes_device_free},
    {"bytes_outside", &AllocatorStats::bytes_outside},
};

inline constexpr StatsField<AllocatorStats, int64_t> kCountFields[] = {
    {"num_allocs", &AllocatorStats::num_allocs},
    {"num_frees", &AllocatorStats::num_frees},
    {"num_live", &AllocatorStats::num_live},
    {"num_failures", &AllocatorStats::num_failures},
    {"num_soft_failures", &AllocatorStats::num_soft_failures},
    {"num_blocks", &AllocatorStats::num_blocks},
    {"num_ranges", &AllocatorStats::num_ranges},
    {"num_reservations", &AllocatorStats::num_reservations},
    {"num_stitched_ranges", &AllocatorStats::num_stitched_ranges},
    {"num_reclaimed_ranges", &AllocatorStats::num_reclaimed_ranges},
    {"num_quarantined_blocks", &AllocatorStats::num_quarantined_blocks},
    {"num_free_pieces", &AllocatorStats::num_free_pieces},
    {"num_stream_waits", &AllocatorStats::num_stream_waits},
    {"num_device_waits", &AllocatorStats::num_device_waits},
};

inline constexpr StatsField<DriverCallStats, int64_t> kCallFields[] = {
    {"create", &DriverCallStats::create},
    {"map", &DriverCallStats::map},
    {"set_access", &DriverCallStats::set_access},
    {"unmap", &DriverCallStats::unmap},
    {"release", &DriverCallStats::release},
    {"reserve", &DriverCallStats::reserve},
    {"free_address", &DriverCallStats::free_address},
    {"record_event", &DriverCallStats::record_event},
};

inline constexpr const char* kWayNames[kNumWays] = {"small", "reuse", "split", "stitch", "grow"};

}  // namespace gmlake

#endif  // GMLAKE_TELEMETRY_STATS_FIELDS_H_
