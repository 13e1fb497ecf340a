#include "cc/core/sleep_control.h"

#include <algorithm>
#include <thread>

#include "cc/core/request_rules.h"

namespace gmlake {
namespace {

constexpr std::chrono::milliseconds kPause(1);
constexpr std::chrono::hours kLongest(24 * 365);  // a longer time could overflow a deadline

Status Unable() { return Status(StatusCode::kNotSupported, "this device has no way to copy its memory to the host"); }

Status Busy() {
  return Status(StatusCode::kFailedPrecondition,
                "work is queued on the device; wait for it (jax.block_until_ready) and try again");
}

Status AsleepAlready() { return Status(StatusCode::kFailedPrecondition, "the device is asleep already"); }

Status Moving() {
  return Status(StatusCode::kFailedPrecondition, "the device is just falling asleep or waking; try again");
}

Status FreedInCapture() {
  return Status(StatusCode::kFailedPrecondition,
                "memory was freed on a stream that is being captured; end the capture and try again");
}

// Sets a flag for as long as it lives. Made and destroyed under the lock.
class Raised {
 public:
  explicit Raised(bool* flag) : flag_(flag) { *flag_ = true; }
  ~Raised() { *flag_ = false; }
  Raised(const Raised&) = delete;
  Raised& operator=(const Raised&) = delete;

 private:
  bool* const flag_;
};

}  // namespace

Status SleepControl::Prepare(std::optional<Bytes> size) {
  if (copier_ == nullptr) return Unable();
  if (!parts_->sleeper.awake()) return AsleepAlready();
  if (moving_) return Moving();
  return parts_->sleeper.Prepare(size);
}

StatusOr<SleepReport> SleepControl::Sleep(const SleepRequest& request, Mutex* mutex) {
  if (copier_ == nullptr) return Unable();
  if (moving_) return Moving();
  if (!parts_->sleeper.awake()) return AsleepAlready();
  const Raised moving(&moving_);
  return FallAsleep(request, mutex);
}

StatusOr<SleepReport> SleepControl::FallAsleep(const SleepRequest& request, Mutex* mutex) {
  GMLAKE_RETURN_IF_ERROR(AwaitIdle(request.patience, mutex));
  const Bytes released = parts_->reclaimer.Trim(Bytes(0));
  StatusOr<SleepReport> report = parts_->sleeper.Sleep(LeasesTagged(request.dropped_tags), mutex);
  if (report.ok()) report->given += released;
  return report;
}

StatusOr<SleepReport> SleepControl::Wake(Mutex* mutex) {
  if (moving_) return Moving();
  if (parts_->sleeper.awake()) return SleepReport();
  const Raised moving(&moving_);
  const StatusOr<SleepReport> report = parts_->sleeper.Wake(parts_->books.limit(), mutex);
  parts_->books.OnReserved(parts_->memory.reserved());
  return report;
}

bool SleepControl::Read(Address address, Bytes size, char* to) const {
  const ChunkId lease = parts_->leases.Find(address);
  if (!parts_->sleeper.asleep() || lease == kNone || PlacedSize(parts_->memory, lease) < size) return false;
  parts_->sleeper.Read(lease, size, to);
  return true;
}

void SleepControl::ReleaseStore() {
  if (!moving_) parts_->sleeper.ReleaseStore();
}

bool SleepControl::Tag(Address address, int32_t tag) {
  if (parts_->leases.Find(address) == kNone) return false;
  tags_[address.value()] = tag;
  return true;
}

std::unordered_set<ChunkId> SleepControl::LeasesTagged(const std::vector<int32_t>& tags) const {
  std::unordered_set<ChunkId> leases;
  for (const auto& [address, tag] : tags_) {
    if (std::find(tags.begin(), tags.end(), tag) != tags.end()) leases.insert(parts_->leases.Find(Address(address)));
  }
  return leases;
}

// Work on known streams must be over before the patience ends. All other work of the device is waited for.
Status SleepControl::AwaitIdle(std::chrono::milliseconds patience, Mutex* mutex) {
  parts_->waits.AwaitPending(mutex).IgnoreError();  // after a failure, something is still pending
  if (!parts_->pending.empty()) return FreedInCapture();
  GMLAKE_ASSIGN_OR_RETURN(const Fence fence, parts_->order.Record(parts_->memory.epoch()));
  Status done;
  {
    const MutexUnlock unlocked(mutex);
    done = AwaitFence(fence, patience);
    if (done.ok()) done = copier_->AwaitDevice();
  }
  if (done.ok()) parts_->order.Prove(fence);
  return done;
}

Status SleepControl::AwaitFence(const Fence& fence, std::chrono::milliseconds patience) {
  const auto deadline = std::chrono::steady_clock::now() +
                        std::clamp<std::chrono::milliseconds>(patience, std::chrono::milliseconds(0), kLongest);
  for (const StreamEnd& end : fence.events) {
    GMLAKE_RETURN_IF_ERROR(AwaitEnd(*end, deadline));
  }
  return OkStatus();
}

Status SleepControl::AwaitEnd(const ScopedEvent& end, std::chrono::steady_clock::time_point deadline) {
  StatusOr<bool> complete = parts_->driver.IsComplete(end.get());
  while (complete.ok() && !*complete) {
    if (std::chrono::steady_clock::now() >= deadline) return Busy();
    std::this_thread::sleep_for(kPause);
    complete = parts_->driver.IsComplete(end.get());
  }
  return complete.status();
}

}  // namespace gmlake
