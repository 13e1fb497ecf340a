// Finds addresses for a stitched range, and keeps what is reserved within a budget.
//
// It looks, in this order, for: a free span with room to extend the range in place; a new reservation within the
// budget; a free span without that room, if need be with the room of other ranges; the span of idle ranges, least
// recently used first, which are unmapped; a reservation that this made possible; and, rather than refuse the request,
// a reservation beyond the budget. Before it exceeds the budget, a caller that may wait has to: the device may be about
// to be done with ranges that would do.
#ifndef GMLAKE_CORE_MAPPING_ADDRESS_SOURCE_H_
#define GMLAKE_CORE_MAPPING_ADDRESS_SOURCE_H_

#include <optional>

#include "cc/base/bytes.h"
#include "cc/base/status.h"
#include "cc/core/mapping/arenas.h"
#include "cc/core/mapping/counting_driver.h"
#include "cc/core/mapping/reclaimer.h"
#include "cc/core/mapping/stream_order.h"
#include "cc/core/ranges/memory.h"

namespace gmlake {

// Addresses to map at, and how many there are from the range's base on.
struct Site {
  Address at;
  Bytes reserved;
};

// Thread rule: the allocator's lock. Cost: a look-up; in a long while a reservation; at the budget an unmap per range
// that is given up.
class AddressSource {
 public:
  AddressSource(CountingDriver* driver, Memory* memory, StreamOrder* order, Reclaimer* reclaimer)
      : memory_(memory), order_(order), reclaimer_(reclaimer), arenas_(driver, memory) {}

  // Addresses for `size` bytes. kOutOfMemory: neither the driver nor idle ranges have them now. With `may_wait`, they
  // may once the device is done with what is free.
  StatusOr<Site> Take(Bytes size, bool may_wait);
  // They were not used after all. Reservations of which nothing is used go back to the driver.
  void Return(const Site& site);

 private:
  StatusOr<Site> TakeFromIdle(Bytes size, bool may_wait);
  std::optional<Site> FromSpace(Bytes size) const;

  Memory* memory_;
  StreamOrder* order_;
  Reclaimer* reclaimer_;
  Arenas arenas_;
};

}  // namespace gmlake

#endif  // GMLAKE_CORE_MAPPING_ADDRESS_SOURCE_H_
