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
constexpr std::chrono::hours kLongest(24 * 365);  // such that a deadline can be computed

Status Unable() { return Status(StatusCode::kNotSupported, "this device has no way to copy its memory to the host"); }

Status Busy() {
  return Status(StatusCode::kFailedPrecondition,
                "work is queued on the device; wait for it (jax.block_until_ready) and try again");
}

Status Moving() {
  return Status(StatusCode::kFailedPrecondition, "the device is just falling asleep or waking; try again");
}

Status FreedInCapture() {
  return Status(StatusCode::kFailedPrecondition,
                "memory was freed on a stream that is being captured; end the capture and try again");
}

// True while it lives. Made and destroyed under the lock.
class Use {
 public:
  explicit Use(bool* flag) : flag_(flag) { *flag_ = true; }
  ~Use() { *flag_ = false; }
  Use(const Use&) = delete;
  Use& operator=(const Use&) = delete;

 private:
  bool* const flag_;
};

}  // namespace

Status Allocator::PrepareSleep(std::optional<Bytes> size) {
  std::lock_guard<std::mutex> lock(mutex_);
  if (copier_ == nullptr) return Unable();
  if (!parts_.sleeper.awake()) return Status(StatusCode::kFailedPrecondition, "the device is asleep already");
  if (copying_) return Moving();
  return parts_.sleeper.Prepare(size);
}

StatusOr<Bytes> Allocator::Unprepared() { return parts_.sleeper.unprepared(); }

StatusOr<SleepReport> Allocator::Sleep(const SleepRequest& request) {
  std::unique_lock<std::mutex> lock(mutex_);
  if (copier_ == nullptr) return Unable();
  if (copying_) return Moving();
  if (!parts_.sleeper.awake()) return Status(StatusCode::kFailedPrecondition, "the device is asleep already");
  const Use copying(&copying_);
  return FallAsleep(request, &lock);
}

StatusOr<SleepReport> Allocator::FallAsleep(const SleepRequest& request, std::unique_lock<std::mutex>* lock) {
  const Status idle = AwaitIdle(request.patience, lock);
  if (!idle.ok()) return idle;
  const Bytes released = parts_.reclaimer.Trim(Bytes(0));
  StatusOr<SleepReport> report = parts_.sleeper.Sleep(LeasesTagged(request.dropped_tags), lock);
  if (report.ok()) report->given += released;
  return report;
}

StatusOr<SleepReport> Allocator::Wake() {
  std::unique_lock<std::mutex> lock(mutex_);
  if (copying_) return Moving();
  if (parts_.sleeper.awake()) return SleepReport();
  const Use copying(&copying_);
  const StatusOr<SleepReport> report = parts_.sleeper.Wake(parts_.books.limit(), &lock);
  parts_.books.OnReserved(parts_.memory.reserved());
  return report;
}

bool Allocator::IsAsleep() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return !parts_.sleeper.awake();
}

bool Allocator::ReadAsleep(Address address, Bytes size, char* to) const {
  std::lock_guard<std::mutex> lock(mutex_);
  const ChunkId lease = parts_.leases.Find(address);
  if (!parts_.sleeper.asleep() || lease == kNone || PlacedSize(parts_.memory, lease) < size) return false;
  parts_.sleeper.Read(lease, size, to);
  return true;
}

void Allocator::ReleaseHostStore() {
  std::lock_guard<std::mutex> lock(mutex_);
  if (!copying_) parts_.sleeper.ReleaseStore();
}

bool Allocator::Tag(Address address, int32_t tag) {
  std::lock_guard<std::mutex> lock(mutex_);
  if (parts_.leases.Find(address) == kNone) return false;
  tags_[address.value()] = tag;
  return true;
}

std::unordered_set<ChunkId> Allocator::LeasesTagged(const std::vector<int32_t>& tags) const {
  std::unordered_set<ChunkId> leases;
  for (const auto& [address, tag] : tags_) {
    if (std::find(tags.begin(), tags.end(), tag) != tags.end()) leases.insert(parts_.leases.Find(Address(address)));
  }
  return leases;
}

// What our own streams have queued must be over soon; what nobody told us about is waited for.
Status Allocator::AwaitIdle(std::chrono::milliseconds patience, std::unique_lock<std::mutex>* lock) {
  parts_.waits.AwaitPending(lock).IgnoreError();  // what is still pending says why
  if (!parts_.pending.empty()) return FreedInCapture();
  const StatusOr<Fence> fence = parts_.order.Record(parts_.memory.epoch());
  if (!fence.ok()) return fence.status();
  lock->unlock();
  Status done = AwaitFence(*fence, patience);
  if (done.ok()) done = copier_->AwaitDevice();
  lock->lock();
  if (done.ok()) parts_.order.Prove(*fence);
  return done;
}

Status Allocator::AwaitFence(const Fence& fence, std::chrono::milliseconds patience) {
  const auto deadline = std::chrono::steady_clock::now() +
                        std::clamp<std::chrono::milliseconds>(patience, std::chrono::milliseconds(0), kLongest);
  for (const StreamEnd& end : fence.events) {
    const Status done = AwaitEnd(*end, deadline);
    if (!done.ok()) return done;
  }
  return OkStatus();
}

Status Allocator::AwaitEnd(const ScopedEvent& end, std::chrono::steady_clock::time_point deadline) {
  StatusOr<bool> complete = parts_.driver.IsComplete(end.get());
  while (complete.ok() && !*complete) {
    if (std::chrono::steady_clock::now() >= deadline) return Busy();
    std::this_thread::sleep_for(kPause);
    complete = parts_.driver.IsComplete(end.get());
  }
  return complete.status();
}

}  // namespace gmlake
