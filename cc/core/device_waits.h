// Waits for the device, so that what is free can be unmapped or cut.
#ifndef GMLAKE_CORE_DEVICE_WAITS_H_
#define GMLAKE_CORE_DEVICE_WAITS_H_

#include "cc/base/mutex.h"
#include "cc/base/status.h"
#include "cc/core/books.h"
#include "cc/core/mapping/stream_order.h"
#include "cc/core/pending_frees.h"
#include "cc/core/ranges/memory.h"

namespace gmlake {

// Model: none; it acts on the stream order and the pending frees. Invariant: the lock is released while the device is
// waited for, because a callback of the device may need it. After a wait the tables may have changed. Thread rule: the
// allocator's lock. Cost: as long as the device has work.
class DeviceWaits {
 public:
  DeviceWaits(const Memory* memory, StreamOrder* order, PendingFrees* pending, Books* books)
      : memory_(memory), order_(order), pending_(pending), books_(books) {}

  // Waits until the device is done with all that is free now.
  Status AwaitDevice(Mutex* mutex) GMLAKE_REQUIRES(mutex);
  // Retries pending frees; first waits for the device where a debt is in the way.
  Status AwaitPending(Mutex* mutex) GMLAKE_REQUIRES(mutex);
  // Waits until the device is done with all that is free. False: that cannot be proved. Nobody else may use the
  // allocator any more.
  bool ProveAll(Mutex* mutex) GMLAKE_REQUIRES(mutex);

 private:
  const Memory* memory_;
  StreamOrder* order_;
  PendingFrees* pending_;
  Books* books_;
};

}  // namespace gmlake

#endif  // GMLAKE_CORE_DEVICE_WAITS_H_
