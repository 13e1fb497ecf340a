#include "cc/core/device_waits.h"

namespace gmlake {

Status DeviceWaits::AwaitDevice(Mutex* mutex) {
  GMLAKE_ASSIGN_OR_RETURN(Fence fence, order_->Record(memory_->epoch()));
  books_->OnDeviceWait();
  Status done;
  {
    const MutexUnlock unlocked(mutex);
    done = order_->Wait(&fence);
  }
  if (done.ok()) order_->Prove(fence);
  return done;
}

Status DeviceWaits::AwaitPending(Mutex* mutex) {
  const Status done = order_->has_debts() ? AwaitDevice(mutex) : OkStatus();
  pending_->Retry();
  return done;
}

bool DeviceWaits::ProveAll(Mutex* mutex) {
  if (!AwaitPending(mutex).ok()) return false;
  return order_->HasProven(memory_->epoch()) || AwaitDevice(mutex).ok();
}

}  // namespace gmlake
