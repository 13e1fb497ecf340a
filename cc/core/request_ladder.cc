#include "cc/core/request_ladder.h"

#include <algorithm>
#include <cstdint>
#include <thread>

#include "cc/core/request_rules.h"

namespace gmlake {
namespace {

constexpr std::chrono::milliseconds kPause(1);
constexpr int kLook = 16;                         // pauses without a free after which the device is asked again
constexpr std::chrono::milliseconds kShort(250);  // so short a wait need not be interrupted
constexpr std::chrono::seconds kInterrupted(5);   // after an interrupt: other threads queue for XLA's lock

// The last wait of this thread that did not help. XLA retries a refused request on the same thread, which does not wait
// again until something is freed or a second has passed.
struct FailedWait {
  const RequestLadder* ladder = nullptr;
  int64_t frees = 0;
  std::chrono::steady_clock::time_point until;

  bool Holds(const RequestLadder* asked, int64_t frees_now) const {
    return ladder == asked && frees == frees_now && std::chrono::steady_clock::now() < until;
  }
};

thread_local FailedWait last_wait;

// False: the wait ends now.
bool Pause(const InterruptCheck& interrupted, Mutex* mutex) GMLAKE_REQUIRES(mutex) {
  const MutexUnlock unlocked(mutex);
  std::this_thread::sleep_for(kPause);
  return interrupted == nullptr || !interrupted();
}

bool IsOutOfMemory(const StatusOr<Placement>& placement) {
  return !placement.ok() && placement.status().code() == StatusCode::kOutOfMemory;
}

// A longer time could overflow a deadline.
std::chrono::milliseconds AtMostAYear(std::chrono::milliseconds time) {
  return std::clamp<std::chrono::milliseconds>(time, std::chrono::milliseconds(0), std::chrono::hours(24 * 365));
}

Patience Bounded(const Patience& patience) {
  return {AtMostAYear(patience.for_leases), AtMostAYear(patience.for_device), patience.watch_interrupts};
}

}  // namespace

RequestLadder::RequestLadder(AllocatorParts* parts, const Patience& patience)
    : parts_(parts), patience_(Bounded(patience)) {}

StatusOr<Placement> RequestLadder::Place(Bytes requested, StreamHandle stream, Mutex* mutex) {
  if (!parts_->sleeper.awake()) return AsleepError();
  if (IsAbsurd(requested)) return Status(StatusCode::kOutOfMemory, "no device has so many bytes");
  const Request request{RoundUp(requested), stream};
  StatusOr<Placement> placement = ClimbToDevice(request, mutex);
  if (!placement.ok()) placement = UntilDeadline(request, placement, mutex);
  parts_->books.OnReserved(parts_->memory.reserved());
  return placement;
}

StatusOr<Placement> RequestLadder::ClimbToDevice(const Request& request, Mutex* mutex) {
  StatusOr<Placement> placement = InOrder(request);
  if (!placement.ok() && HasPending()) placement = AfterPendingFrees(request, mutex);
  if (WaitingMayHelp(request, placement)) placement = AfterDevice(request, mutex);
  return placement;
}

// Each time anew: what came free since the last time is not yet in order for the stream.
StatusOr<Placement> RequestLadder::InOrder(const Request& request) {
  const Status ordered = parts_->order.Acquire(request.stream);
  return ordered.ok() ? PlaceNow(request) : ordered;
}

StatusOr<Placement> RequestLadder::PlaceNow(const Request& request) {
  Placer::Request placed = parts_->RequestOf(request.size, request.stream);
  placed.may_wait = request.may_wait;
  if (request.size >= SmallPool::kThreshold) return parts_->placer.Place(placed);
  Placer::Request slab = parts_->RequestOf(SmallPool::kSlabSize, request.stream);
  slab.may_wait = request.may_wait;
  slab.at_home = true;
  return parts_->small.Place(placed, slab, &parts_->placer);
}

StatusOr<Placement> RequestLadder::AfterPendingFrees(const Request& request, Mutex* mutex) {
  parts_->waits.AwaitPending(mutex).IgnoreError();  // what is still pending is not used
  return parts_->sleeper.awake() ? InOrder(request) : AsleepError();
}

StatusOr<Placement> RequestLadder::AfterDevice(Request request, Mutex* mutex) {
  parts_->waits.AwaitDevice(mutex).IgnoreError();  // after a failure, blocks that are not proven free are not cut
  request.may_wait = false;
  return parts_->sleeper.awake() ? InOrder(request) : AsleepError();
}

// True where there are bytes enough, but in blocks that cannot be cut before the device is done with them.
bool RequestLadder::WaitingMayHelp(const Request& request, const StatusOr<Placement>& refused) const {
  if (!IsOutOfMemory(refused)) return false;
  const Memory& memory = parts_->memory;
  const Bytes room = memory.space.free_bytes() + (parts_->books.limit() - memory.reserved());
  return request.size <= room && !parts_->order.HasProven(memory.epoch());
}

StatusOr<Placement> RequestLadder::UntilDeadline(const Request& request, StatusOr<Placement> refused, Mutex* mutex) {
  const std::chrono::milliseconds patience = PatienceFor(request.size);
  const Clock::time_point deadline = Clock::now() + patience;
  refused = LookUntil(deadline, WatchInterrupts(patience), request, refused, mutex);
  const bool in_vain = !refused.ok() && patience.count() > 0;
  if (in_vain) last_wait = {this, parts_->books.num_frees(), Clock::now() + std::chrono::seconds(1)};
  return refused;
}

// Zero for what can never be served. Where the limit is in the way, leases must end; else the device is full.
std::chrono::milliseconds RequestLadder::PatienceFor(Bytes size) const {
  const Books& books = parts_->books;
  const bool in_vain = size > books.limit() || last_wait.Holds(this, books.num_frees());
  if (in_vain) return std::chrono::milliseconds(0);
  if (books.in_use() + size > books.limit()) return patience_.for_leases;
  if (Clock::now() < interrupted_until_) return patience_.for_leases;
  return std::max(patience_.for_leases, patience_.for_device);
}

InterruptCheck RequestLadder::WatchInterrupts(std::chrono::milliseconds wait) const {
  return wait > kShort && patience_.watch_interrupts != nullptr ? patience_.watch_interrupts() : nullptr;
}

StatusOr<Placement> RequestLadder::LookUntil(Clock::time_point deadline, const InterruptCheck& interrupted,
                                             const Request& request, StatusOr<Placement> refused, Mutex* mutex) {
  int64_t frees = parts_->books.num_frees();
  int pauses = 0;
  while (MayComeLater(refused) && Clock::now() < deadline) {
    if (!Pause(interrupted, mutex)) {
      interrupted_until_ = Clock::now() + kInterrupted;
      break;
    }
    const bool hopeless = parts_->books.num_frees() == frees && ++pauses % kLook != 0;
    if (hopeless || !parts_->sleeper.awake()) continue;
    frees = parts_->books.num_frees();
    refused = ClimbToDevice(request, mutex);
  }
  return refused;
}

bool RequestLadder::MayComeLater(const StatusOr<Placement>& refused) const {
  return IsOutOfMemory(refused) && parts_->sleeper.awake();
}

}  // namespace gmlake
