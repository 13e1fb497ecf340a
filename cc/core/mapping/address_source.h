// Finds addresses for a stitched range, and keeps what is reserved within a budget.
//
// It tries, in this order: a free span with room to extend the range in place; a new reservation within the budget; a
// free span without that room, also by taking back the room of other ranges; the spans of idle ranges, which it unmaps,
// least recently used first; a reservation that this made possible; and a reservation beyond the budget, rather than
// refuse the request. A caller that may wait must wait for the device before the budget is exceeded, because then more
// ranges may be idle.
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
  // Takes back addresses that were not used. Reservations without any use are freed.
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
