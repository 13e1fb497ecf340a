// Requests that are refused now and may be served in a moment: XLA drops buffers on threads of its own, a little after
// the program has let go of them; and a neighbour on the device may be about to give memory back. A part of the
// allocator, in a file of its own, because it is about time.
#include <algorithm>
#include <chrono>
#include <thread>

#include "cc/core/allocator.h"

namespace gmlake {
namespace {

constexpr std::chrono::milliseconds kPause(1);
constexpr int kLook = 16;                         // so many pauses without a free, and the device is asked again
constexpr std::chrono::milliseconds kShort(250);  // nobody needs to interrupt so short a wait
constexpr std::chrono::seconds kInterrupted(5);   // for so long no thread waits again: others queue for XLA's lock

// XLA tries a refused request again and again, on the thread that was refused. A thread that has waited in vain does
// not wait again until something was freed, or a second later.
struct FailedWait {
  const void* allocator = nullptr;
  int64_t frees = 0;
  std::chrono::steady_clock::time_point until;

  bool Holds(const void* asked, int64_t frees_now) const {
    return allocator == asked && frees == frees_now && std::chrono::steady_clock::now() < until;
  }
};

thread_local FailedWait last_wait;

// False: the wait is to end.
bool Pause(const InterruptCheck& interrupted, std::unique_lock<std::mutex>* lock) {
  lock->unlock();
  std::this_thread::sleep_for(kPause);
  const bool goes_on = interrupted == nullptr || !interrupted();
  lock->lock();
  return goes_on;
}

}  // namespace

// None for what could never be served. Where the limit is in the way, leases of ours must end; else the device is full.
std::chrono::milliseconds Allocator::PatienceFor(Bytes size) const {
  const bool in_vain = size > parts_.books.limit() || last_wait.Holds(this, parts_.books.num_frees());
  if (in_vain) return std::chrono::milliseconds(0);
  if (parts_.books.in_use() + size > parts_.books.limit()) return patience_.for_leases;
  if (std::chrono::steady_clock::now() < interrupted_until_) return patience_.for_leases;
  return std::max(patience_.for_leases, patience_.for_device);
}

bool Allocator::MayComeLater(const StatusOr<Placement>& refused) const {
  return !refused.ok() && refused.status().code() == StatusCode::kOutOfMemory && parts_.sleeper.awake();
}

StatusOr<Placement> Allocator::PlaceLater(Bytes size, StreamHandle stream, StatusOr<Placement> refused,
                                          std::unique_lock<std::mutex>* lock) {
  refused = PlaceWithPatience(size, stream, refused, lock);
  const std::chrono::milliseconds patience = PatienceFor(size);
  refused =
      LookUntil(std::chrono::steady_clock::now() + patience, WatchInterrupts(patience), size, stream, refused, lock);
  const bool in_vain = !refused.ok() && patience.count() > 0;
  if (in_vain) last_wait = {this, parts_.books.num_frees(), std::chrono::steady_clock::now() + std::chrono::seconds(1)};
  return refused;
}

InterruptCheck Allocator::WatchInterrupts(std::chrono::milliseconds wait) const {
  return wait > kShort && patience_.watch_interrupts != nullptr ? patience_.watch_interrupts() : nullptr;
}

StatusOr<Placement> Allocator::LookUntil(std::chrono::steady_clock::time_point deadline,
                                         const InterruptCheck& interrupted, Bytes size, StreamHandle stream,
                                         StatusOr<Placement> refused, std::unique_lock<std::mutex>* lock) {
  int64_t frees = parts_.books.num_frees();
  int pauses = 0;
  while (MayComeLater(refused) && std::chrono::steady_clock::now() < deadline) {
    if (!Pause(interrupted, lock)) {
      interrupted_until_ = std::chrono::steady_clock::now() + kInterrupted;
      break;
    }
    const bool hopeless = parts_.books.num_frees() == frees && ++pauses % kLook != 0;
    if (hopeless || !parts_.sleeper.awake()) continue;
    frees = parts_.books.num_frees();
    refused = PlaceInOrder(size, stream);
    if (!refused.ok()) refused = PlaceWithPatience(size, stream, refused, lock);
  }
  return refused;
}

Demand Allocator::TakeDemand() {
  std::lock_guard<std::mutex> lock(mutex_);
  return parts_.books.TakeDemand(parts_.memory.reserved());
}

}  // namespace gmlake
