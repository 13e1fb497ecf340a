#include "cc/core/allocator.h"

#include <algorithm>

#include "cc/core/invariant_checker.h"
#include "cc/core/snapshot_maker.h"
#include "cc/telemetry/labels.h"

namespace gmlake {
namespace {

constexpr int64_t kMostEvents = 100'000'000;
constexpr int kMostWaits = 3;  // others may free memory during each, which then needs another

// Of leases whose label has the name; of all for an empty one.
Bytes InUseOf(const std::string& name, const AllocatorParts& parts) {
  Bytes in_use(0);
  parts.leases.ForEach([&](Address, ChunkId chunk) {
    if (name.empty() || HasName(parts.journal.note(chunk).label, name)) in_use += PlacedSize(parts.memory, chunk);
  });
  return in_use;
}

}  // namespace

Allocator::Allocator(Driver* driver, AllocatorOptions options)
    : budget_(options.budget),
      parts_(driver, options),
      driver_(&parts_.driver),
      ladder_(&parts_, options.patience),
      sleep_(&parts_, options.copier) {}

Allocator::~Allocator() {
  const MutexLock lock(&mutex_);
  parts_.pending.Retry();
  if (!parts_.sleeper.awake()) return;  // a sleeping device holds no memory; addresses end with the process
  // Without proof that the work is over, everything stays mapped. Such a leak ends with the process; a fault would not.
  if (parts_.waits.ProveAll(&mutex_)) parts_.reclaimer.ReleaseAll();
}

inline Address Allocator::Admit(const Placement& placement, Bytes requested, StreamHandle stream) {
  parts_.memory.chunks[placement.chunk].requested = requested;
  parts_.leases.Insert(placement.address, placement.chunk);
  const Bytes size = RoundUp(requested);
  parts_.journal.OnAlloc({placement.address, placement.chunk, size, requested, stream}, placement.way);
  parts_.books.OnAlloc(size, requested, placement.way);
  return placement.address;
}

StatusOr<Address> Allocator::Allocate(Bytes size, StreamHandle stream) {
  const MutexLock lock(&mutex_);
  if (parts_.sleeper.awake() && !IsAbsurd(size) && parts_.order.IsInOrder(stream)) {
    const Placement usual = PlaceUsual(RoundUp(size), stream);
    if (usual.chunk != kNone) return Admit(usual, size, stream);
  }
  return AllocateSlowly(size, stream);
}

// Not inlined, so that a usual request does not pay for what this needs.
__attribute__((noinline)) StatusOr<Address> Allocator::AllocateSlowly(Bytes size, StreamHandle stream) {
  const StatusOr<Placement> placement = ladder_.Place(size, stream, &mutex_);
  if (placement.ok()) return Admit(*placement, size, stream);
  parts_.books.OnRefusal();
  parts_.journal.OnRefusal(size, stream);
  return placement.status();
}

// Serves nearly every request: from a slab, a free chunk, a cached stitch or the tail. No chunk: the request is not
// usual.
inline Placement Allocator::PlaceUsual(Bytes size, StreamHandle stream) {
  if (size < SmallPool::kThreshold) return parts_.small.Take(size);
  if (parts_.placer.IsNear(parts_.books.limit())) return Placement();
  const Placement split = parts_.placer.SplitBestFit(size);
  return split.chunk != kNone ? split : parts_.placer.PlaceAtTail(parts_.RequestOf(size, stream));
}

bool Allocator::Free(Address address, StreamHandle stream) {
  const MutexLock lock(&mutex_);
  const ChunkId chunk = parts_.leases.Erase(address);
  if (chunk == kNone) return false;
  sleep_.OnFree(address);
  const Bytes requested = parts_.memory.chunks[chunk].requested;
  const Bytes size = RoundUp(requested);
  parts_.journal.OnFree({address, chunk, size, requested, stream});
  parts_.books.OnFree(size, requested);
  if (parts_.order.Release(stream).ok()) {
    GiveLease(chunk, &parts_.memory, &parts_.small);
  } else {
    parts_.pending.Add(chunk, stream);
  }
  return true;
}

bool Allocator::Owns(Address address) const {
  const MutexLock lock(&mutex_);
  return parts_.leases.Find(address) != kNone;
}

std::optional<Bytes> Allocator::RequestedSize(Address address) const {
  const MutexLock lock(&mutex_);
  const ChunkId chunk = parts_.leases.Find(address);
  if (chunk == kNone) return std::nullopt;
  return parts_.memory.chunks[chunk].requested;
}

AllocatorStats Allocator::Stats() const {
  const MutexLock lock(&mutex_);
  return SnapshotMaker(parts_).Stats(Status(StatusCode::kNotReady, "the device was not asked"));
}

AllocatorStats Allocator::StatsOfDevice() {
  const StatusOr<DeviceMemory> device = driver_->QueryMemory();
  const MutexLock lock(&mutex_);
  return SnapshotMaker(parts_).Stats(device);
}

Snapshot Allocator::TakeSnapshot(Recording* recording) {
  const StatusOr<DeviceMemory> device = driver_->QueryMemory();
  const MutexLock lock(&mutex_);
  Snapshot snapshot = SnapshotMaker(parts_).Take(device);
  if (recording != nullptr) *recording = parts_.journal.recorder().Read();  // with the changes that the snapshot shows
  return snapshot;
}

void Allocator::ResetPeaks() {
  const MutexLock lock(&mutex_);
  parts_.books.ResetPeaks(parts_.memory.reserved());
}

void Allocator::Record(int64_t max_events) {
  const MutexLock lock(&mutex_);
  if (max_events > 0) {
    parts_.journal.StartRecording(std::min(max_events, kMostEvents));
  } else {
    parts_.journal.StopRecording();
  }
}

bool Allocator::is_recording() const {
  const MutexLock lock(&mutex_);
  return parts_.journal.recorder().is_on();
}

void Allocator::MarkMoment() {
  const MutexLock lock(&mutex_);
  parts_.journal.OnEvent(EventKind::kMark, Bytes(0));
}

int64_t Allocator::BeginTrack(const std::string& name) {
  const MutexLock lock(&mutex_);
  return parts_.journal.tracks().Begin(name, InUseOf(name, parts_));
}

bool Allocator::ReadTrack(int64_t id, TrackStats* stats, bool end) {
  const MutexLock lock(&mutex_);
  if (!parts_.journal.tracks().Read(id, stats)) return false;
  return !end || parts_.journal.tracks().End(id);
}

Status Allocator::Preallocate(Bytes target) {
  const MutexLock lock(&mutex_);
  if (!parts_.sleeper.awake()) return AsleepError();
  const Bytes most = AlignDown(std::clamp(target, Bytes(0), parts_.books.limit()), parts_.memory.blocks.granularity());
  const Bytes more = most - parts_.memory.reserved();
  if (more <= Bytes(0)) return OkStatus();
  Placer::Request request = parts_.RequestOf(more, StreamHandle());
  request.at_home = true;
  const Status created = parts_.placer.Preallocate(request);
  parts_.books.OnReserved(parts_.memory.reserved());
  return created;
}

Bytes Allocator::Trim(Bytes target) {
  const MutexLock lock(&mutex_);
  const Bytes given = TrimTo(target);
  parts_.journal.OnEvent(EventKind::kTrim, given);
  return given;
}

bool Allocator::MayTrim(Bytes target) {
  return parts_.memory.reserved() > target && parts_.sleeper.awake() && parts_.order.MayUnmap().ok();
}

Bytes Allocator::TrimTo(Bytes target) {
  parts_.waits.AwaitPending(&mutex_).IgnoreError();  // what is still pending is not given back
  Bytes given(0);
  for (int waits = 0; MayTrim(target); ++waits) {
    given += parts_.reclaimer.Trim(target);
    const bool all = parts_.memory.reserved() <= target || parts_.order.HasProven(parts_.memory.epoch());
    if (all || waits == kMostWaits || !parts_.waits.AwaitDevice(&mutex_).ok()) break;
  }
  return given;
}

Status Allocator::SetLimit(Bytes limit) {
  if (IsAbsurd(limit)) return Status(StatusCode::kInvalidArgument, "no device has " + ToString(limit));
  const MutexLock lock(&mutex_);
  TrimTo(limit);
  if (parts_.memory.reserved() > limit) {
    return Status(StatusCode::kFailedPrecondition, "the limit cannot be " + ToString(limit) + " while " +
                                                       ToString(parts_.memory.reserved()) + " are held");
  }
  parts_.books.set_limit(limit);
  parts_.journal.OnEvent(EventKind::kLimit, limit);
  return OkStatus();
}

Demand Allocator::TakeDemand() {
  const MutexLock lock(&mutex_);
  return parts_.books.TakeDemand(parts_.memory.reserved());
}

void Allocator::Maintain() {
  const MutexLock lock(&mutex_);
  if (!parts_.sleeper.awake()) return;
  parts_.journal.OnMaintenance();
  parts_.pending.Retry();
  if (!parts_.reclaimer.OverBudget(budget_) || !parts_.order.MayUnmap().ok()) return;
  parts_.order.Poll(parts_.memory.epoch());
  parts_.reclaimer.EnforceBudget(budget_);
}

Status Allocator::RetireStream(StreamHandle stream) {
  const MutexLock lock(&mutex_);
  parts_.pending.Retry();
  const Status kept = parts_.pending.KeepEndOf(stream);
  const Status retired = parts_.order.Retire(stream);
  return retired.ok() ? kept : retired;
}

Status Allocator::PrepareSleep(std::optional<Bytes> size) {
  const MutexLock lock(&mutex_);
  return sleep_.Prepare(size);
}

StatusOr<Bytes> Allocator::Unprepared() {
  const MutexLock lock(&mutex_);
  return parts_.sleeper.unprepared();
}

StatusOr<SleepReport> Allocator::Sleep(const SleepRequest& request) {
  const MutexLock lock(&mutex_);
  return sleep_.Sleep(request, &mutex_);
}

StatusOr<SleepReport> Allocator::Wake() {
  const MutexLock lock(&mutex_);
  return sleep_.Wake(&mutex_);
}

bool Allocator::IsAsleep() const {
  const MutexLock lock(&mutex_);
  return !parts_.sleeper.awake();
}

bool Allocator::ReadAsleep(Address address, Bytes size, char* to) const {
  const MutexLock lock(&mutex_);
  return sleep_.Read(address, size, to);
}

void Allocator::ReleaseHostStore() {
  const MutexLock lock(&mutex_);
  sleep_.ReleaseStore();
}

bool Allocator::Tag(Address address, int32_t tag) {
  const MutexLock lock(&mutex_);
  return sleep_.Tag(address, tag);
}

std::string Allocator::CheckInvariants() const {
  const MutexLock lock(&mutex_);
  return InvariantChecker(parts_).Check();
}

}  // namespace gmlake
