// What one driver call costs, in microseconds, as measured on an H200 (driver 580.159, CUDA 13.0).
//
// The driver charges per physical block, hardly per byte below 128 MiB. Between the measured sizes the cost is
// interpolated in bytes, above the largest it continues with the last slope. The table knows nothing of what is mapped
// where; model_driver.h keeps that.
#ifndef GMLAKE_DRIVER_COST_TABLE_H_
#define GMLAKE_DRIVER_COST_TABLE_H_

#include <cstdint>

#include "cc/base/bytes.h"

namespace gmlake {

enum class DriverCall { kCreate, kMap, kSetAccess, kUnmap, kRelease };

// Cost of `call` on one physical block of `size`. A ranged SetAccess or Unmap over n mappings is n such costs.
double CostPerBlock(DriverCall call, Bytes size);

// Cost of a reservation, of whatever size, while `live` others live.
double ReserveCost(int64_t live);

// The middle of the measured span, 11-58 microseconds, whatever the size.
inline constexpr double kFreeAddressCost = 35;

// Not measured; the order of magnitude of any call that only enters and leaves the driver.
inline constexpr double kEventCost = 1;

}  // namespace gmlake

#endif  // GMLAKE_DRIVER_COST_TABLE_H_
