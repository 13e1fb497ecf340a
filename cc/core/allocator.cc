#include "cc/core/allocator.h"

#include <algorithm>

namespace gmlake {
namespace {

constexpr Bytes kMostBytes(int64_t{1} << 46);
constexpr int kMostWaits = 3;  // for what others free while this thread waits for the device

// Larger than any sum of sizes may become, or negative: a size that was too large for a signed number.
bool IsAbsurd(Bytes size) { return size < Bytes(0) || kMostBytes < size; }

Status Absurd() { return Status(StatusCode::kOutOfMemory, "no device has so many bytes"); }

// Such that a deadline can be computed.
std::chrono::milliseconds AtMostAYear(std::chrono::milliseconds time) {
  return std::clamp<std::chrono::milliseconds>(time, std::chrono::milliseconds(0), std::chrono::hours(24 * 365));
}

Patience Bounded(const Patience& patience) {
  return {AtMostAYear(patience.for_leases), AtMostAYear(patience.for_device), patience.watch_interrupts};
}

Status Asleep() {
  return Status(StatusCode::kFailedPrecondition, "the device is asleep; call gmlake_jax.wake() first");
}

}  // namespace

Allocator::Allocator(Driver* driver, AllocatorOptions options)
    : budget_(options.budget),
      copier_(options.copier),
      patience_(Bounded(options.patience)),
      driver_(driver, &journal_.inventory_log()),
      memory_(driver->granularity(), options.thresholds, options.range_size, &journal_.inventory_log()),
      small_(&memory_),
      order_(&driver_),
      reclaimer_(&driver_, &memory_, &order_),
      addresses_(&driver_, &memory_, &order_, &reclaimer_),
      placer_(&driver_, &memory_, &order_, &reclaimer_, &addresses_),
      sleeper_(&driver_, &memory_, options.copier),
      leases_(&memory_.chunks) {
  books_.bytes_limit = std::clamp(options.limit, Bytes(0), kMostBytes);
}

Allocator::~Allocator() {
  std::unique_lock<std::mutex> lock(mutex_);
  RetryPending();
  if (!sleeper_.awake()) return;  // it holds no memory; addresses end with the process
  // Without proof that the work is over, everything stays mapped: a leak that ends with the process, not a fault.
  if (ProveAll(&lock)) reclaimer_.ReleaseAll();
}

StatusOr<Address> Allocator::Allocate(Bytes size, StreamHandle stream) {
  std::unique_lock<std::mutex> lock(mutex_);
  if (sleeper_.awake() && !IsAbsurd(size) && order_.IsInOrder(stream)) {
    const Placement usual = PlaceUsual(RoundUp(size), stream);
    if (usual.chunk != kNone) return Admit(usual, size, stream);
  }
  return AllocateUnusual(size, stream, &lock);
}

// Apart, so that a usual request does not pay for what this needs.
StatusOr<Address> Allocator::AllocateUnusual(Bytes size, StreamHandle stream, std::unique_lock<std::mutex>* lock) {
  if (!sleeper_.awake()) return Refuse(size, stream, Asleep());
  if (IsAbsurd(size)) return Refuse(size, stream, Absurd());
  const Bytes placed = RoundUp(size);
  StatusOr<Placement> placement = PlaceInOrder(placed, stream);
  if (!placement.ok()) placement = PlaceLater(placed, stream, placement, lock);
  books_.peak_bytes_reserved = std::max(books_.peak_bytes_reserved, memory_.reserved());  // nothing else makes it grow
  if (!placement.ok()) return Refuse(size, stream, placement.status());
  return Admit(*placement, size, stream);
}

// What nearly every request comes to: room in a slab, in a free chunk, in a range, or at the tail. No chunk: it is not
// usual.
inline Placement Allocator::PlaceUsual(Bytes size, StreamHandle stream) {
  if (size < SmallPool::kThreshold) return small_.Take(size);
  if (placer_.IsNear(books_.bytes_limit)) return Placement();
  const Placement split = placer_.SplitBestFit(size);
  return split.chunk != kNone ? split : placer_.PlaceAtTail(RequestOf(size, stream, /*at_home=*/false));
}

// After what could not be freed before, and after the device. Both waits let go of the lock. `refused`: without them.
StatusOr<Placement> Allocator::PlaceWithPatience(Bytes size, StreamHandle stream, StatusOr<Placement> refused,
                                                 std::unique_lock<std::mutex>* lock) {
  if (!pending_.empty() || order_.has_debts()) {
    AwaitPending(lock).IgnoreError();  // the request then does without
    if (!sleeper_.awake()) return Asleep();
    refused = PlaceInOrder(size, stream);
  }
  if (!WaitingMayHelp(refused, size)) return refused;
  AwaitDevice(lock).IgnoreError();  // the request then does without
  if (!sleeper_.awake()) return Asleep();
  may_wait_ = false;
  refused = PlaceInOrder(size, stream);
  may_wait_ = true;
  return refused;
}

// In order each time: what came free since the last time is not yet in order for `stream`.
StatusOr<Placement> Allocator::PlaceInOrder(Bytes size, StreamHandle stream) {
  Status ordered = order_.Acquire(stream);
  if (!ordered.ok()) return ordered;
  return Place(size, stream);
}

// There are bytes enough, but in blocks that cannot be cut before the device is done with them.
bool Allocator::WaitingMayHelp(const StatusOr<Placement>& placement, Bytes size) const {
  if (placement.ok() || placement.status().code() != StatusCode::kOutOfMemory) return false;
  const Bytes room = memory_.space.free_bytes() + (books_.bytes_limit - memory_.reserved());
  return size <= room && !order_.HasProven(memory_.epoch());
}

bool Allocator::Free(Address address, StreamHandle stream) {
  std::lock_guard<std::mutex> lock(mutex_);
  const ChunkId chunk = leases_.Erase(address);
  if (chunk == kNone) return false;
  if (!tags_.empty()) tags_.erase(address.value());
  const Bytes requested = memory_.chunks[chunk].requested;
  const Bytes size = RoundUp(requested);
  journal_.OnFree({address, chunk, size, requested, stream});
  books_.bytes_in_use -= size;
  books_.bytes_requested -= requested;
  ++books_.num_frees;
  if (order_.Release(stream).ok()) {
    Return(chunk);
  } else {
    books_.bytes_pending += size;
    pending_.push_back({chunk, stream});
  }
  return true;
}

bool Allocator::Owns(Address address) const {
  std::lock_guard<std::mutex> lock(mutex_);
  return leases_.Find(address) != kNone;
}

std::optional<Bytes> Allocator::RequestedSize(Address address) const {
  std::lock_guard<std::mutex> lock(mutex_);
  const ChunkId chunk = leases_.Find(address);
  if (chunk == kNone) return std::nullopt;
  return memory_.chunks[chunk].requested;
}

void Allocator::ResetPeaks() {
  std::lock_guard<std::mutex> lock(mutex_);
  books_.peak_bytes_in_use = books_.bytes_in_use;
  books_.peak_bytes_requested = books_.bytes_requested;
  books_.peak_bytes_reserved = memory_.reserved();
}

Status Allocator::Preallocate(Bytes target) {
  std::lock_guard<std::mutex> lock(mutex_);
  if (!sleeper_.awake()) return Asleep();
  const Bytes most = AlignDown(std::clamp(target, Bytes(0), books_.bytes_limit), memory_.blocks.granularity());
  const Bytes more = most - memory_.reserved();
  if (more <= Bytes(0)) return OkStatus();
  const Status created = placer_.Preallocate(RequestOf(more, StreamHandle(), /*at_home=*/true));
  books_.peak_bytes_reserved = std::max(books_.peak_bytes_reserved, memory_.reserved());
  return created;
}

Bytes Allocator::Trim(Bytes target) {
  std::unique_lock<std::mutex> lock(mutex_);
  const Bytes given = TrimTo(target, &lock);
  journal_.OnEvent(EventKind::kTrim, given);
  return given;
}

Status Allocator::SetLimit(Bytes limit) {
  if (IsAbsurd(limit)) return Status(StatusCode::kInvalidArgument, "no device has " + ToString(limit));
  std::unique_lock<std::mutex> lock(mutex_);
  TrimTo(limit, &lock);
  if (memory_.reserved() > limit) {
    return Status(StatusCode::kFailedPrecondition,
                  "the limit cannot be " + ToString(limit) + " while " + ToString(memory_.reserved()) + " are held");
  }
  books_.bytes_limit = limit;
  journal_.OnEvent(EventKind::kLimit, limit);
  return OkStatus();
}

void Allocator::Maintain() {
  std::lock_guard<std::mutex> lock(mutex_);
  if (!sleeper_.awake()) return;
  journal_.OnMaintenance();
  RetryPending();
  if (!reclaimer_.OverBudget(budget_) || !order_.MayUnmap().ok()) return;
  order_.Poll(memory_.epoch());
  reclaimer_.EnforceBudget(budget_);
}

Status Allocator::RetireStream(StreamHandle stream) {
  std::lock_guard<std::mutex> lock(mutex_);
  RetryPending();
  const Status kept = KeepEndOfPending(stream);
  const Status retired = order_.Retire(stream);
  return retired.ok() ? kept : retired;
}

// Where the stream is being captured, nobody can tell when its work is over without a wait for the device.
Status Allocator::KeepEndOfPending(StreamHandle stream) {
  Status kept;
  for (PendingFree& free : pending_) {
    const bool is_gone = free.end != nullptr || free.debt > 0;  // another stream of the same name
    if (is_gone || free.stream != stream) continue;
    const StatusOr<StreamEnd> end = order_.EndOf(stream);
    if (end.ok()) {
      free.end = *end;
    } else {
      free.debt = order_.AddDebt();
      kept = end.status();
    }
  }
  return kept;
}

StatusOr<Placement> Allocator::Place(Bytes size, StreamHandle stream) {
  const Placer::Request request = RequestOf(size, stream, /*at_home=*/false);
  if (size >= SmallPool::kThreshold) return placer_.Place(request);
  return small_.Place(request, RequestOf(SmallPool::kSlabSize, stream, /*at_home=*/true), &placer_);
}

inline Placer::Request Allocator::RequestOf(Bytes size, StreamHandle stream, bool at_home) const {
  const Bytes peak = std::max(high_water_, books_.bytes_in_use + size);
  return {size, stream, books_.bytes_limit, peak, books_.num_allocs, at_home, may_wait_};
}

Address Allocator::Admit(const Placement& placement, Bytes requested, StreamHandle stream) {
  memory_.chunks[placement.chunk].requested = requested;
  leases_.Insert(placement.address, placement.chunk);
  const Bytes size = RoundUp(requested);
  journal_.OnAlloc({placement.address, placement.chunk, size, requested, stream}, placement.way);
  books_.bytes_in_use += size;
  books_.bytes_requested += requested;
  high_water_ = std::max(high_water_, books_.bytes_in_use);
  books_.peak_bytes_in_use = std::max(books_.peak_bytes_in_use, books_.bytes_in_use);
  window_peak_ = std::max(window_peak_, books_.bytes_in_use);
  books_.peak_bytes_requested = std::max(books_.peak_bytes_requested, books_.bytes_requested);
  books_.largest_alloc_size = std::max(books_.largest_alloc_size, requested);
  ++books_.num_allocs;
  WayStats& way = books_.by_way[static_cast<int>(placement.way)];
  ++way.count;
  way.bytes += requested;
  return placement.address;
}

void Allocator::Return(ChunkId chunk) {
  const Chunk& lease = memory_.chunks[chunk];
  if (lease.small) return small_.Give(chunk);
  memory_.Give(chunk);
}

Status Allocator::TryAgain(const PendingFree& free) {
  if (free.end != nullptr) return order_.ReleaseAfter(free.end);
  if (free.debt == 0) return order_.Release(free.stream);
  return order_.IsSettled(free.debt) ? OkStatus() : Status(StatusCode::kNotReady, "the device was not waited for yet");
}

void Allocator::RetryPending() {
  const auto settled = [this](const PendingFree& free) {
    if (!TryAgain(free).ok()) return false;
    books_.bytes_pending -= PlacedSize(free.chunk);
    Return(free.chunk);
    return true;
  };
  pending_.erase(std::remove_if(pending_.begin(), pending_.end(), settled), pending_.end());
}

// The pieces of a lease add up to this.
Bytes Allocator::PlacedSize(ChunkId first) const { return RoundUp(memory_.chunks[first].requested); }

bool Allocator::MayTrim(Bytes target) {
  return memory_.reserved() > target && sleeper_.awake() && order_.MayUnmap().ok();
}

Bytes Allocator::TrimTo(Bytes target, std::unique_lock<std::mutex>* lock) {
  AwaitPending(lock).IgnoreError();  // what is still pending is not given back
  Bytes given(0);
  for (int waits = 0; MayTrim(target); ++waits) {
    given += reclaimer_.Trim(target);
    const bool all = memory_.reserved() <= target || order_.HasProven(memory_.epoch());
    if (all || waits == kMostWaits || !AwaitDevice(lock).ok()) break;
  }
  return given;
}

// Waits until the device is done with all that is free now.
Status Allocator::AwaitDevice(std::unique_lock<std::mutex>* lock) {
  StatusOr<Fence> fence = order_.Record(memory_.epoch());
  if (!fence.ok()) return fence.status();
  ++books_.num_device_waits;
  lock->unlock();
  const Status done = order_.Wait(&*fence);
  lock->lock();
  if (done.ok()) order_.Prove(*fence);
  return done;
}

// What could not be freed before, if need be after a wait for the device.
Status Allocator::AwaitPending(std::unique_lock<std::mutex>* lock) {
  const Status done = order_.has_debts() ? AwaitDevice(lock) : OkStatus();
  RetryPending();
  return done;
}

// Is the device done with all that is free? Nobody else uses the allocator any more.
bool Allocator::ProveAll(std::unique_lock<std::mutex>* lock) {
  if (!AwaitPending(lock).ok()) return false;
  return order_.HasProven(memory_.epoch()) || AwaitDevice(lock).ok();
}

Status Allocator::Refuse(Bytes size, StreamHandle stream, const Status& status) {
  ++books_.num_failures;
  journal_.OnRefusal(size, stream);
  return status;
}

}  // namespace gmlake
