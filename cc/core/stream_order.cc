#include "cc/core/stream_order.h"

#include "cc/driver/handles.h"

namespace gmlake {

Status StreamOrder::Acquire(StreamHandle stream) {
  return IsHome(stream) ? OkStatus() : WaitFor(stream, home_);
}

Status StreamOrder::Release(StreamHandle stream) {
  return IsHome(stream) ? OkStatus() : WaitFor(home_, stream);
}

Status StreamOrder::MayMap(StreamHandle stream) {
  Status status = RefuseCapture(home_);
  if (!status.ok() || stream == home_) return status;
  return RefuseCapture(stream);
}

Status StreamOrder::Quiesce() {
  if (!has_home_) return OkStatus();
  Status capture = RefuseCapture(home_);
  if (!capture.ok()) return capture;
  StatusOr<ScopedEvent> event = ScopedEvent::Record(driver_, home_);
  if (!event.ok()) return event.status();
  return driver_->WaitOnHost(event->get());
}

Status StreamOrder::Retire(StreamHandle stream) {
  if (!has_home_ || stream != home_) return OkStatus();
  const Status quiet = Quiesce();
  has_home_ = false;
  return quiet;
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
