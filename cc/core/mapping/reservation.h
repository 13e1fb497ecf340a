// How much to reserve at a time: large reservations, because each one makes the next one slower (cost_table.h).
#ifndef GMLAKE_CORE_MAPPING_RESERVATION_H_
#define GMLAKE_CORE_MAPPING_RESERVATION_H_

#include <algorithm>

#include "cc/base/bytes.h"
#include "cc/base/status.h"
#include "cc/core/ranges/address_space.h"
#include "cc/core/ranges/memory.h"
#include "cc/driver/driver.h"

namespace gmlake {

// What the budget of addresses still allows.
inline Bytes AddressesLeft(const Memory& memory) { return memory.range_size.budget - memory.address_bytes(); }

inline bool IsOverAddressBudget(const Memory& memory) { return AddressesLeft(memory) < Bytes(0); }

// The usual size of a reservation: a multiple of the device's memory.
inline Bytes UsualReservation(Driver* driver, const RangeSize& range_size) {
  const StatusOr<DeviceMemory> device = driver->QueryMemory();
  const Bytes total = device.ok() ? device->total : Bytes(0);
  return std::max(range_size.least, total * range_size.per_total);
}

// Reserves the usual size, at most `most`; where the driver does not have that, down to `least`.
// kOutOfMemory: `most` is less than `least`.
template <typename ReserveCall>
StatusOr<Span> ReserveSpan(Driver* driver, const RangeSize& range_size, Bytes least, Bytes most, ReserveCall reserve) {
  if (most < least) return Status(StatusCode::kOutOfMemory, "the budget of addresses is used up");
  const Bytes granularity = driver->granularity();
  Bytes size = std::max(least, AlignDown(std::min(most, UsualReservation(driver, range_size)), granularity));
  StatusOr<Address> base = reserve(size);
  while (!base.ok() && size > least) {
    size = std::max(least, AlignUp(size / 2, granularity));
    base = reserve(size);
  }
  if (!base.ok()) return base.status();
  return Span{*base, size};
}

}  // namespace gmlake

#endif  // GMLAKE_CORE_MAPPING_RESERVATION_H_
