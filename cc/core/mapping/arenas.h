// The reservations behind an AddressSpace: made when it has no span that is long enough, given back when nothing of
// them is used.
#ifndef GMLAKE_CORE_MAPPING_ARENAS_H_
#define GMLAKE_CORE_MAPPING_ARENAS_H_

#include "cc/base/bytes.h"
#include "cc/base/status.h"
#include "cc/core/mapping/counting_driver.h"
#include "cc/core/mapping/reservation.h"
#include "cc/core/ranges/memory.h"

namespace gmlake {

// Thread rule: the allocator's lock. Cost: a driver call per reservation.
class Arenas {
 public:
  Arenas(CountingDriver* driver, Memory* memory) : driver_(driver), memory_(memory) {}

  // As much as usual, from `least` to `most`.
  Status Reserve(Bytes least, Bytes most) {
    const auto reserve = [this](Bytes size) { return driver_->ReserveArena(size); };
    const StatusOr<Span> span = ReserveSpan(driver_, memory_->range_size, least, most, reserve);
    if (span.ok()) memory_->addresses.AddReservation(*span);
    return span.status();
  }

  void FreeUnused() {
    for (const Span& span : memory_->addresses.Unused()) {
      memory_->addresses.RemoveReservation(span.base);
      if (!driver_->FreeArena(span.base, span.size).ok()) ++memory_->unreleased.ranges;
    }
  }

 private:
  CountingDriver* driver_;
  Memory* memory_;
};

}  // namespace gmlake

#endif  // GMLAKE_CORE_MAPPING_ARENAS_H_
