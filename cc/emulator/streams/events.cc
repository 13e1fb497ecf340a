#include "cc/emulator/streams/events.h"

#include "cc/emulator/calls/log.h"
#include "cc/emulator/streams/capture.h"
#include "cc/emulator/streams/streams.h"

namespace gmlake::emulator {

void Recording::Complete() {
  std::lock_guard<std::mutex> lock(mutex_);
  is_complete_ = true;
  time_ = std::chrono::steady_clock::now();
  changed_.notify_all();
}

void Recording::Wait() {
  std::unique_lock<std::mutex> lock(mutex_);
  changed_.wait(lock, [this] { return is_complete_; });
}

bool Recording::IsComplete() {
  std::lock_guard<std::mutex> lock(mutex_);
  return is_complete_;
}

namespace {

void Remember(CUevent event, std::shared_ptr<Recording> recording, const std::shared_ptr<Capture>& capture) {
  std::lock_guard<std::mutex> lock(event->mutex);
  event->recording = std::move(recording);
  event->capture = capture;
}

Operation EventOperation(const char* what, CUgraphNodeType type, std::function<void()> run) {
  Operation operation;
  operation.what = what;
  operation.type = type;
  operation.run = std::move(run);
  return operation;
}

// The waiting stream joins the event's capture. Order inside is the order of recording, so nothing is left to do.
CUresult JoinCapture(CUstream stream, const std::shared_ptr<Capture>& capture) {
  if (IsDefaultStream(stream)) return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
  if (stream->capture == capture) return CUDA_SUCCESS;
  if (stream->capture != nullptr) return CUDA_ERROR_STREAM_CAPTURE_MERGE;
  stream->capture = capture;
  capture->Join(stream);
  return CUDA_SUCCESS;
}

CUresult RefuseToLeaveCapture(CUstream stream) {
  Violation(Rule::kCapture, "a captured stream waits for an event from outside the capture");
  stream->capture->Invalidate();
  return CUDA_ERROR_STREAM_CAPTURE_ISOLATION;
}

}  // namespace

// Recorded in a capture, an event marks a place in the graph and runs nothing.
CUresult RecordEvent(CUevent event, CUstream stream) {
  if (!IsDefaultStream(stream) && stream->capture != nullptr) {
    Remember(event, nullptr, stream->capture);
    return CUDA_SUCCESS;
  }
  if (const CUresult alive = CheckStream(stream, "event record"); alive != CUDA_SUCCESS) return alive;
  auto recording = std::make_shared<Recording>();
  if (!IsDefaultStream(stream)) recording->clock = stream->queue->Now();
  Remember(event, recording, nullptr);
  return Submit(
      stream, EventOperation("event record", CU_GRAPH_NODE_TYPE_EVENT_RECORD, [recording] { recording->Complete(); }));
}

CUresult WaitForEvent(CUstream stream, CUevent event) {
  if (const auto capture = event->LastCapture()) return JoinCapture(stream, capture);
  if (!IsDefaultStream(stream) && stream->capture != nullptr) return RefuseToLeaveCapture(stream);
  const auto recording = event->Last();
  if (recording == nullptr) return CheckStream(stream, "event wait");
  if (!IsDefaultStream(stream)) stream->queue->Follow(recording->clock);
  return Submit(stream,
                EventOperation("event wait", CU_GRAPH_NODE_TYPE_WAIT_EVENT, [recording] { recording->Wait(); }));
}

}  // namespace gmlake::emulator

std::shared_ptr<gmlake::emulator::Recording> CUevent_st::Last() {
  std::lock_guard<std::mutex> lock(mutex);
  return recording;
}

std::shared_ptr<gmlake::emulator::Capture> CUevent_st::LastCapture() {
  std::lock_guard<std::mutex> lock(mutex);
  return capture.lock();
}
