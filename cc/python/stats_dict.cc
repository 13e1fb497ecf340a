#include "cc/python/stats_dict.h"

#include "cc/telemetry/stats_fields.h"

namespace gmlake {
namespace {

namespace nb = nanobind;

nb::dict WaysToDict(const WayStats (&by_way)[kNumWays]) {
  nb::dict ways;
  for (int way = 0; way < kNumWays; ++way) {
    nb::dict entry;
    entry["count"] = by_way[way].count;
    entry["bytes"] = by_way[way].bytes.count();
    ways[kWayNames[way]] = entry;
  }
  return ways;
}

nb::dict CallsToDict(const DriverCallStats& calls) {
  nb::dict result;
  for (const auto& field : kCallFields) result[field.name] = calls.*field.member;
  result["time_us"] = calls.time_us;
  return result;
}

}  // namespace

nb::dict ToDict(const AllocatorStats& stats) {
  nb::dict result;
  for (const auto& field : kSizeFields) result[field.name] = (stats.*field.member).count();
  for (const auto& field : kCountFields) result[field.name] = stats.*field.member;
  result["ways"] = WaysToDict(stats.by_way);
  result["driver_calls"] = CallsToDict(stats.driver_calls);
  return result;
}

}  // namespace gmlake
