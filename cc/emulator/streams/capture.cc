#include "cc/emulator/streams/capture.h"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <utility>

#include "cc/emulator/calls/log.h"
#include "cc/emulator/streams/graphs.h"
#include "cc/emulator/streams/stream.h"

namespace gmlake::emulator {
namespace {

thread_local CUstreamCaptureMode t_mode = CU_STREAM_CAPTURE_MODE_GLOBAL;

struct Registry {
  std::mutex mutex;
  std::vector<std::shared_ptr<Capture>> captures;
  std::atomic<int> count{0};  // spares every call the lock while nothing is captured
};

Registry& registry() {
  static auto* const all = new Registry;
  return *all;
}

CUresult Forbid(Capture* capture, const char* call) {
  Violation(Rule::kCapture, "%s while a stream is being captured", call);
  capture->Invalidate();
  return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
}

template <typename Wanted>
CUresult ForbidWhere(const char* call, Wanted wanted) {
  if (registry().count == 0) return CUDA_SUCCESS;
  std::lock_guard<std::mutex> lock(registry().mutex);
  for (const auto& capture : registry().captures) {
    if (wanted(*capture)) return Forbid(capture.get(), call);
  }
  return CUDA_SUCCESS;
}

void Forget(const std::shared_ptr<Capture>& capture) {
  std::lock_guard<std::mutex> lock(registry().mutex);
  auto& captures = registry().captures;
  captures.erase(std::remove(captures.begin(), captures.end(), capture), captures.end());
  --registry().count;
}

}  // namespace

Capture::Capture(CUstream origin, CUgraph graph, CUstreamCaptureMode mode)
    : owned_graph_(graph == nullptr ? new CUgraph_st : nullptr),
      graph_(graph == nullptr ? owned_graph_.get() : graph),
      mode_(mode),
      streams_{origin} {}

Capture::~Capture() = default;

void Capture::Record(Operation operation) { AddNode(graph_, nullptr, 0, std::move(operation)); }

void Capture::Join(CUstream stream) { streams_.push_back(stream); }

bool Capture::ForbidsUnsafeCalls(CUstreamCaptureMode own) const {
  if (mode_ == CU_STREAM_CAPTURE_MODE_RELAXED || own == CU_STREAM_CAPTURE_MODE_RELAXED) return false;
  if (std::this_thread::get_id() == thread_) return true;
  return mode_ == CU_STREAM_CAPTURE_MODE_GLOBAL && own == CU_STREAM_CAPTURE_MODE_GLOBAL;
}

CUgraph Capture::End() {
  for (CUstream stream : streams_) stream->capture = nullptr;
  if (!is_valid_) return nullptr;
  owned_graph_.release();
  return graph_;
}

CUresult BeginCapture(CUstream stream, CUgraph graph, CUstreamCaptureMode mode) {
  if (IsDefaultStream(stream)) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  if (stream->capture != nullptr) return CUDA_ERROR_ILLEGAL_STATE;
  stream->capture = std::make_shared<Capture>(stream, graph, mode);
  std::lock_guard<std::mutex> lock(registry().mutex);
  registry().captures.push_back(stream->capture);
  ++registry().count;
  return CUDA_SUCCESS;
}

CUresult EndCapture(CUstream stream, CUgraph* graph) {
  if (IsDefaultStream(stream) || stream->capture == nullptr) return CUDA_ERROR_ILLEGAL_STATE;
  const std::shared_ptr<Capture> capture = stream->capture;
  if (capture->origin() != stream) return CUDA_ERROR_STREAM_CAPTURE_UNMATCHED;
  Forget(capture);
  *graph = capture->End();
  return capture->is_valid() ? CUDA_SUCCESS : CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
}

CUstreamCaptureMode ExchangeThreadMode(CUstreamCaptureMode mode) { return std::exchange(t_mode, mode); }

CUresult CheckOutsideCapture(const char* call) {
  return ForbidWhere(call, [](const Capture& capture) { return capture.ForbidsUnsafeCalls(t_mode); });
}

CUresult CheckNotCaptured(CUstream stream, const char* call) {
  if (IsDefaultStream(stream) || stream->capture == nullptr) return CUDA_SUCCESS;
  return Forbid(stream->capture.get(), call);
}

CUresult CheckNothingCaptured(const char* call) {
  return ForbidWhere(call, [](const Capture&) { return true; });
}

}  // namespace gmlake::emulator
