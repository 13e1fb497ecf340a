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
  const Status status = EnsureHome(stream);
  return status.ok() && stream != home_ ? WaitFor(stream, home_) : status;
}

Status StreamOrder::ReleaseElsewhere(StreamHandle stream) {
  const Status status = EnsureHome(stream);
  return status.ok() && stream != home_ ? WaitFor(home_, stream) : status;
}

Status StreamOrder::ReleaseAfter(const StreamEnd& end) {
  if (!has_home_) {
    inherited_.push_back(end);
    return OkStatus();
  }
  const Status status = RefuseCapture(home_);
  return status.ok() ? driver_->WaitOnStream(home_, end->get()) : status;
}

// Where there is no home, `stream` becomes it.
Status StreamOrder::EnsureHome(StreamHandle stream) {
  if (has_home_) return OkStatus();
  if (is_orphaned()) return Orphaned();
  const Status status = Inherit(stream);
  if (!status.ok()) return status;
  has_home_ = true;
  home_ = stream;
  return OkStatus();
}

Status StreamOrder::Inherit(StreamHandle stream) {
  if (inherited_.empty()) return OkStatus();
  const Status captured = RefuseCapture(stream);
  if (!captured.ok()) return captured;
  for (const StreamEnd& end : inherited_) {
    if (driver_->WaitOnStream(stream, end->get()).ok()) continue;
    home_debt_ = AddDebt();
    inherited_.clear();
    return Orphaned();
  }
  inherited_.clear();
  return OkStatus();
}

Status StreamOrder::MayMap(StreamHandle stream) {
  Status status = RefuseCapture(home_);
  if (!status.ok() || stream == home_) return status;
  return RefuseCapture(stream);
}

Status StreamOrder::MayUnmap() {
  if (is_orphaned()) return Orphaned();
  return has_home_ ? RefuseCapture(home_) : OkStatus();
}

StatusOr<Mark> StreamOrder::Record(int64_t tick) {
  Mark mark{inherited_, has_debts(), is_orphaned(), debts_, tick};
  if (!has_home_) return mark;
  StatusOr<StreamEnd> end = EndOf(home_);
  if (!end.ok()) return end.status();
  mark.events.push_back(*end);
  return mark;
}

Status StreamOrder::Wait(Mark* mark) const {
  if (mark->device) {
    const Status done = driver_->WaitOnDevice();
    if (done.ok() || mark->only_device) return done;
    mark->device = false;
  }
  const Status done = WaitForEvents(*mark);
  return done.ok() ? done : driver_->WaitOnDevice();
}

Status StreamOrder::WaitForEvents(const Mark& mark) const {
  for (const StreamEnd& end : mark.events) {
    const Status done = driver_->WaitOnHost(end->get());
    if (!done.ok()) return done;
  }
  return OkStatus();
}

void StreamOrder::Prove(const Mark& mark) {
  proven_ = std::max(proven_, mark.tick);
  if (mark.device) settled_debts_ = std::max(settled_debts_, mark.debts);
}

void StreamOrder::Poll(int64_t tick) {
  PollMark();
  if (mark_.has_value() || proven_ >= tick || !MayUnmap().ok()) return;
  StatusOr<Mark> mark = Record(tick);
  if (!mark.ok()) return;
  mark->device = false;  // nobody waits for it
  mark_ = std::move(*mark);
  PollMark();  // a device with nothing to do is done at once
}

void StreamOrder::PollMark() {
  if (!mark_.has_value()) return;
  const std::optional<bool> complete = IsComplete(*mark_);
  if (complete == false) return;
  if (complete == true) Prove(*mark_);
  mark_.reset();
}

std::optional<bool> StreamOrder::IsComplete(const Mark& mark) const {
  for (const StreamEnd& end : mark.events) {
    const StatusOr<bool> complete = driver_->IsComplete(end->get());
    if (!complete.ok()) return std::nullopt;
    if (!*complete) return false;
  }
  return true;
}

Status StreamOrder::Retire(StreamHandle stream) {
  if (!IsInOrder(stream)) return OkStatus();
  const StatusOr<StreamEnd> end = EndOf(home_);
  has_home_ = false;
  if (end.ok()) {
    inherited_.push_back(*end);
  } else {
    home_debt_ = AddDebt();
  }
  return end.status();
}

StatusOr<StreamEnd> StreamOrder::EndOf(StreamHandle stream) {
  const Status captured = RefuseCapture(stream);
  if (!captured.ok()) return captured;
  StatusOr<ScopedEvent> event = ScopedEvent::Record(driver_, stream);
  if (!event.ok()) return event.status();
  return std::make_shared<const ScopedEvent>(std::move(*event));
}

Status StreamOrder::WaitFor(StreamHandle later, StreamHandle earlier) {
  const Status captured = RefuseCapture(later);
  if (!captured.ok()) return captured;
  const StatusOr<StreamEnd> end = EndOf(earlier);
  if (!end.ok()) return end.status();
  const Status status = driver_->WaitOnStream(later, (*end)->get());
  if (status.ok()) ++waits_;
  return status;
}

// A stream whose state cannot be told is treated as captured.
Status StreamOrder::RefuseCapture(StreamHandle stream) {
  StatusOr<bool> capturing = driver_->IsCapturing(stream);
  if (!capturing.ok()) return capturing.status();
  if (!*capturing) return OkStatus();
  return Status(StatusCode::kFailedPrecondition,
                "a stream is being captured: no event can be recorded and no mapping changed");
}

}  // namespace gmlake
