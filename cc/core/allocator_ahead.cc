// The allocator's part in stitching ahead: under which lock each step is done. What is made is decided in preparer.h. A
// part of the allocator, in a file of its own, because no request comes this way.
#include "cc/core/allocator.h"

namespace gmlake {

// What the small pool serves needs no range, and what is larger than the limit will not be served.
void Allocator::Expect(Bytes size) {
  std::lock_guard<std::mutex> lock(mutex_);
  if (size < SmallPool::kThreshold || size > books_.bytes_limit) return;
  preparer_.Expect(RoundUp(size));
}

bool Allocator::Prepare() {
  std::unique_lock<std::mutex> lock(mutex_);
  const std::unique_ptr<Preparation> preparation = BeginPreparation();
  if (preparation == nullptr) return false;
  gate_.Begin(preparation->plan().request);
  lock.unlock();
  preparation->Map();
  lock.lock();
  preparer_.End(preparation.get(), books_.num_allocs);
  gate_.End();
  return true;
}

// Not while a graph is being captured, nor asleep.
std::unique_ptr<Preparation> Allocator::BeginPreparation() {
  if (preparer_.idle() || !gate_.may_begin() || !sleeper_.awake() || !order_.MayUnmap().ok()) return nullptr;
  return preparer_.Begin();
}

// False: the device was put to sleep meanwhile.
bool Allocator::AwaitPreparation(std::unique_lock<std::mutex>* lock) {
  gate_.Await(lock);
  return sleeper_.awake();
}

}  // namespace gmlake
