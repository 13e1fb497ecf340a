#include "cc/core/stream_order.h"

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
  if (orphaned_) return Orphaned();
  return IsHome(stream) ? OkStatus() : WaitFor(stream, home_);
}

Status StreamOrder::ReleaseElsewhere(StreamHandle stream) {
  if (orphaned_) return Orphaned();
  return IsHome(stream) ? OkStatus() : WaitFor(home_, stream);
}

Status StreamOrder::MayMap(StreamHandle stream) {
  Status status = RefuseCapture(home_);
  if (!status.ok() || stream == home_) return status;
  return RefuseCapture(stream);
}

Status StreamOrder::MayUnmap() {
  if (orphaned_) return Orphaned();
  return has_home_ ? RefuseCapture(home_) : OkStatus();
}

StatusOr<Mark> StreamOrder::Record(int64_t tick) {
  Status status = MayUnmap();
  if (!status.ok()) return status;
  if (!has_home_) return Mark{ScopedEvent(), tick};
  StatusOr<ScopedEvent> event = ScopedEvent::Record(driver_, home_);
  if (!event.ok()) return event.status();
  return Mark{std::move(*event), tick};
}

Status StreamOrder::Wait(const Mark& mark) const {
  return mark.event.recorded() ? driver_->WaitOnHost(mark.event.get()) : OkStatus();
}

void StreamOrder::Prove(const Mark& mark) { proven_ = std::max(proven_, mark.tick); }

void StreamOrder::Poll(int64_t tick) {
  PollMark();
  if (mark_.has_value() || proven_ >= tick) return;
  StatusOr<Mark> mark = Record(tick);
  if (!mark.ok()) return;
  mark_ = std::move(*mark);
  PollMark();  // a device with nothing to do is done at once
}

// An event whose state cannot be told is not complete.
void StreamOrder::PollMark() {
  if (!mark_.has_value()) return;
  const StatusOr<bool> complete = mark_->event.recorded() ? driver_->IsComplete(mark_->event.get()) : true;
  if (!complete.ok() || !*complete) return;
  Prove(*mark_);
  mark_.reset();
}

void StreamOrder::ForgetHome(bool done) {
  has_home_ = false;
  orphaned_ = !done;
}

bool StreamOrder::IsHome(StreamHandle stream) {
  if (!has_home_) {
    has_home_ = true;
    home_ = stream;
  }
  return stream == home_;
}

Status StreamOrder::WaitFor(StreamHandle later, StreamHandle earlier) {
  for (StreamHandle stream : {earlier, later}) {
    Status status = RefuseCapture(stream);
    if (!status.ok()) return status;
  }
  StatusOr<ScopedEvent> event = ScopedEvent::Record(driver_, earlier);
  if (!event.ok()) return event.status();
  Status status = driver_->WaitOnStream(later, event->get());
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
