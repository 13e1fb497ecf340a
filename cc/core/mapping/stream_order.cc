#include "cc/core/mapping/stream_order.h"

#include <algorithm>
#include <utility>

namespace gmlake {
namespace {

Status Orphaned() {
  return Status(StatusCode::kFailedPrecondition,
                "a stream was destroyed before its work could be waited for: free memory may still be in use");
}

}  // namespace

Status StreamOrder::AcquireElsewhere(StreamHandle stream) {
  const Status status = EnsureOwner(stream);
  return status.ok() && stream != owner_ ? WaitFor(stream, owner_) : status;
}

Status StreamOrder::ReleaseElsewhere(StreamHandle stream) {
  const Status status = EnsureOwner(stream);
  return status.ok() && stream != owner_ ? WaitFor(owner_, stream) : status;
}

Status StreamOrder::ReleaseAfter(const StreamEnd& end) {
  if (!has_owner_) {
    inherited_.push_back(end);
    return OkStatus();
  }
  const Status status = RefuseCapture(owner_);
  return status.ok() ? driver_->WaitOnStream(owner_, end->get()) : status;
}

// Where there is no owner stream, `stream` becomes it.
Status StreamOrder::EnsureOwner(StreamHandle stream) {
  if (has_owner_) return OkStatus();
  if (is_orphaned()) return Orphaned();
  GMLAKE_RETURN_IF_ERROR(Inherit(stream));
  has_owner_ = true;
  owner_ = stream;
  return OkStatus();
}

Status StreamOrder::Inherit(StreamHandle stream) {
  if (inherited_.empty()) return OkStatus();
  GMLAKE_RETURN_IF_ERROR(RefuseCapture(stream));
  for (const StreamEnd& end : inherited_) {
    if (driver_->WaitOnStream(stream, end->get()).ok()) continue;
    owner_debt_ = AddDebt();
    inherited_.clear();
    return Orphaned();
  }
  inherited_.clear();
  return OkStatus();
}

Status StreamOrder::MayMap(StreamHandle stream) {
  Status status = RefuseCapture(owner_);
  if (!status.ok() || stream == owner_) return status;
  return RefuseCapture(stream);
}

Status StreamOrder::MayUnmap() {
  if (is_orphaned()) return Orphaned();
  return has_owner_ ? RefuseCapture(owner_) : OkStatus();
}

StatusOr<Fence> StreamOrder::Record(int64_t epoch) {
  Fence fence{inherited_, has_debts(), is_orphaned(), debts_, epoch};
  if (!has_owner_) return fence;
  GMLAKE_ASSIGN_OR_RETURN(StreamEnd end, EndOf(owner_));
  fence.events.push_back(end);
  return fence;
}

Status StreamOrder::Wait(Fence* fence) const {
  if (fence->device) {
    const Status done = driver_->WaitOnDevice();
    if (done.ok() || fence->only_device) return done;
    fence->device = false;
  }
  const Status done = WaitForEvents(*fence);
  return done.ok() ? done : driver_->WaitOnDevice();
}

Status StreamOrder::WaitForEvents(const Fence& fence) const {
  for (const StreamEnd& end : fence.events) {
    GMLAKE_RETURN_IF_ERROR(driver_->WaitOnHost(end->get()));
  }
  return OkStatus();
}

void StreamOrder::Prove(const Fence& fence) {
  proven_ = std::max(proven_, fence.epoch);
  if (fence.device) settled_debts_ = std::max(settled_debts_, fence.debts);
}

void StreamOrder::Poll(int64_t epoch) {
  PollFence();
  if (fence_.has_value() || proven_ >= epoch || !MayUnmap().ok()) return;
  StatusOr<Fence> fence = Record(epoch);
  if (!fence.ok()) return;
  fence->device = false;  // nobody waits for it
  fence_ = std::move(*fence);
  PollFence();  // a device with nothing to do is done at once
}

void StreamOrder::PollFence() {
  if (!fence_.has_value()) return;
  const std::optional<bool> complete = IsComplete(*fence_);
  if (complete == false) return;
  if (complete == true) Prove(*fence_);
  fence_.reset();
}

std::optional<bool> StreamOrder::IsComplete(const Fence& fence) const {
  for (const StreamEnd& end : fence.events) {
    const StatusOr<bool> complete = driver_->IsComplete(end->get());
    if (!complete.ok()) return std::nullopt;
    if (!*complete) return false;
  }
  return true;
}

Status StreamOrder::Retire(StreamHandle stream) {
  if (!IsInOrder(stream)) return OkStatus();
  const StatusOr<StreamEnd> end = EndOf(owner_);
  has_owner_ = false;
  if (end.ok()) {
    inherited_.push_back(*end);
  } else {
    owner_debt_ = AddDebt();
  }
  return end.status();
}

StatusOr<StreamEnd> StreamOrder::EndOf(StreamHandle stream) {
  GMLAKE_RETURN_IF_ERROR(RefuseCapture(stream));
  GMLAKE_ASSIGN_OR_RETURN(ScopedEvent event, ScopedEvent::Record(driver_, stream));
  return std::make_shared<const ScopedEvent>(std::move(event));
}

Status StreamOrder::WaitFor(StreamHandle later, StreamHandle earlier) {
  GMLAKE_RETURN_IF_ERROR(RefuseCapture(later));
  GMLAKE_ASSIGN_OR_RETURN(const StreamEnd end, EndOf(earlier));
  const Status status = driver_->WaitOnStream(later, end->get());
  if (status.ok()) ++waits_;
  return status;
}

// A stream whose state cannot be told is treated as captured.
Status StreamOrder::RefuseCapture(StreamHandle stream) {
  GMLAKE_ASSIGN_OR_RETURN(bool capturing, driver_->IsCapturing(stream));
  if (!capturing) return OkStatus();
  return Status(StatusCode::kFailedPrecondition,
                "a stream is being captured: no event can be recorded and no mapping changed");
}

}  // namespace gmlake
