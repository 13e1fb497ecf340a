// The parts of one device's allocator side by side, in the order in which they refer to each other.
//
// Whatever works on several of them (allocator, request ladder, sleep control, snapshot maker, invariant checker) gets
// this struct. Nothing here decides.
#ifndef GMLAKE_CORE_ALLOCATOR_PARTS_H_
#define GMLAKE_CORE_ALLOCATOR_PARTS_H_

#include <algorithm>

#include "cc/base/bytes.h"
#include "cc/core/allocator_options.h"
#include "cc/core/books.h"
#include "cc/core/device_waits.h"
#include "cc/core/journal.h"
#include "cc/core/mapping/address_source.h"
#include "cc/core/mapping/counting_driver.h"
#include "cc/core/mapping/reclaimer.h"
#include "cc/core/mapping/stream_order.h"
#include "cc/core/pending_frees.h"
#include "cc/core/placer.h"
#include "cc/core/ranges/memory.h"
#include "cc/core/request_rules.h"
#include "cc/core/sleep/sleeper.h"
#include "cc/core/small_pool.h"
#include "cc/core/tables/lease_table.h"
#include "cc/driver/driver.h"

namespace gmlake {

// Model: one of each part, over one driver. Invariant: what InvariantChecker looks for. Thread rule: the allocator's
// lock. Cost: none of its own.
struct AllocatorParts {
  AllocatorParts(Driver* device, const AllocatorOptions& options)
      : driver(device, &journal.inventory_log()),
        memory(device->granularity(), options.thresholds, options.range_size, &journal.inventory_log()),
        sleeper(&driver, &memory, options.copier),
        books(std::clamp(options.limit, Bytes(0), kMostBytes)) {}
  AllocatorParts(const AllocatorParts&) = delete;
  AllocatorParts& operator=(const AllocatorParts&) = delete;

  // A request for `size` bytes, at any address; it may be refused because a wait for the device would help.
  Placer::Request RequestOf(Bytes size, StreamHandle stream) const {
    return {size,
            stream,
            books.limit(),
            books.HighWaterWith(size),
            books.num_allocs(),
            /*at_home=*/false,
            /*may_wait=*/true};
  }

  Journal journal;
  CountingDriver driver;
  Memory memory;
  SmallPool small{&memory};
  StreamOrder order{&driver};
  Reclaimer reclaimer{&driver, &memory, &order};
  AddressSource addresses{&driver, &memory, &order, &reclaimer};
  Placer placer{&driver, &memory, &order, &reclaimer, &addresses};
  Sleeper sleeper;
  LeaseTable leases{&memory.chunks};
  Books books;
  PendingFrees pending{&memory, &small, &order};
  DeviceWaits waits{&memory, &order, &pending, &books};
};

}  // namespace gmlake

#endif  // GMLAKE_CORE_ALLOCATOR_PARTS_H_
