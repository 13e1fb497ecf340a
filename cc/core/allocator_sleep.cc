// The allocator's part in sleeping: is the device idle, what is unwanted, and who is asked to do it. The steps
// themselves are in sleeper.h. A part of the allocator, in a file of its own.
#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

#include "cc/core/allocator.h"

namespace gmlake {
namespace {

constexpr std::chrono::milliseconds kPause(1);

Status Unable() { return Status(StatusCode::kNotSupported, "this device has no way to copy its memory to the host"); }

Status Busy() {
  return Status(StatusCode::kFailedPrecondition,
                "work is queued on the device; wait for it (jax.block_until_ready) and try again");
}

Status Mapping() {
  return Status(StatusCode::kFailedPrecondition, "memory is being mapped in the background, and takes long; try again");
}

Status FreedInCapture() {
  return Status(StatusCode::kFailedPrecondition,
                "memory was freed on a stream that is being captured; end the capture and try again");
}

}  // namespace

Status Allocator::PrepareSleep(std::optional<Bytes> size) {
  std::lock_guard<std::mutex> lock(mutex_);
  if (copier_ == nullptr) return Unable();
  if (!sleeper_.awake()) return Status(StatusCode::kFailedPrecondition, "the device is asleep already");
  return sleeper_.Prepare(size);
}

StatusOr<Bytes> Allocator::Unprepared() { return sleeper_.unprepared(); }

StatusOr<SleepReport> Allocator::Sleep(const SleepRequest& request) {
  std::unique_lock<std::mutex> lock(mutex_);
  if (copier_ == nullptr) return Unable();
  if (!sleeper_.awake()) return Status(StatusCode::kFailedPrecondition, "the device is asleep already");
  const PreparationGate::HoldOff none(&gate_);
  if (!gate_.Await(&lock)) return Mapping();
  const Status idle = AwaitIdle(request.patience, &lock);
  if (!idle.ok()) return idle;
  if (!sleeper_.awake()) return Status(StatusCode::kFailedPrecondition, "the device was put to sleep meanwhile");
  const Bytes released = reclaimer_.Trim(Bytes(0));
  StatusOr<SleepReport> report = sleeper_.Sleep(LeasesTagged(request.dropped_tags), &lock);
  if (report.ok()) report->given += released;
  return report;
}

StatusOr<SleepReport> Allocator::Wake() {
  std::unique_lock<std::mutex> lock(mutex_);
  if (sleeper_.awake()) return SleepReport();
  if (!sleeper_.asleep()) return Status(StatusCode::kFailedPrecondition, "the device is just falling asleep or waking");
  return sleeper_.Wake(books_.bytes_limit, &lock);
}

bool Allocator::IsAsleep() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return !sleeper_.awake();
}

bool Allocator::ReadAsleep(Address address, Bytes size, char* to) const {
  std::lock_guard<std::mutex> lock(mutex_);
  const ChunkId lease = leases_.Find(address);
  if (!sleeper_.asleep() || lease == kNone || PlacedSize(lease) < size) return false;
  sleeper_.Read(lease, size, to);
  return true;
}

void Allocator::ReleaseHostStore() {
  std::lock_guard<std::mutex> lock(mutex_);
  sleeper_.ReleaseStore();
}

bool Allocator::Tag(Address address, int32_t tag) {
  std::lock_guard<std::mutex> lock(mutex_);
  if (leases_.Find(address) == kNone) return false;
  tags_[address.value()] = tag;
  return true;
}

std::unordered_set<ChunkId> Allocator::LeasesTagged(const std::vector<int32_t>& tags) const {
  std::unordered_set<ChunkId> leases;
  for (const auto& [address, tag] : tags_) {
    if (std::find(tags.begin(), tags.end(), tag) != tags.end()) leases.insert(leases_.Find(Address(address)));
  }
  return leases;
}

// What our own streams have queued must be over soon; what nobody told us about is waited for.
Status Allocator::AwaitIdle(std::chrono::milliseconds patience, std::unique_lock<std::mutex>* lock) {
  RetryPending();
  if (!pending_.empty()) return FreedInCapture();
  const StatusOr<Mark> mark = order_.Record(memory_.ticks());
  if (!mark.ok()) return mark.status();
  lock->unlock();
  Status done = AwaitMark(*mark, patience);
  if (done.ok()) done = copier_->AwaitDevice();
  lock->lock();
  if (done.ok()) order_.Prove(*mark);
  return done;
}

Status Allocator::AwaitMark(const Mark& mark, std::chrono::milliseconds patience) {
  const auto deadline = std::chrono::steady_clock::now() + patience;
  while (mark.event.recorded()) {
    const StatusOr<bool> complete = driver_.IsComplete(mark.event.get());
    if (!complete.ok()) return complete.status();
    if (*complete) break;
    if (std::chrono::steady_clock::now() >= deadline) return Busy();
    std::this_thread::sleep_for(kPause);
  }
  return OkStatus();
}

}  // namespace gmlake
