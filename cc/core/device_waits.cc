#include "cc/core/device_waits.h"

namespace gmlake {

Status DeviceWaits::AwaitDevice(std::unique_lock<std::mutex>* lock) {
  StatusOr<Fence> fence = order_->Record(memory_->epoch());
  if (!fence.ok()) return fence.status();
  books_->OnDeviceWait();
  lock->unlock();
  const Status done = order_->Wait(&*fence);
  lock->lock();
  if (done.ok()) order_->Prove(*fence);
  return done;
}

Status DeviceWaits::AwaitPending(std::unique_lock<std::mutex>* lock) {
  const Status done = order_->has_debts() ? AwaitDevice(lock) : OkStatus();
  pending_->Retry();
  return done;
}

bool DeviceWaits::ProveAll(std::unique_lock<std::mutex>* lock) {
  if (!AwaitPending(lock).ok()) return false;
  return order_->HasProven(memory_->epoch()) || AwaitDevice(lock).ok();
}

}  // namespace gmlake
