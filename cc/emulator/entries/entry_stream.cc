// Driver entry points: streams, events, host functions, values written by streams, capture.
#include <unistd.h>

#include <algorithm>
#include <chrono>

#include "cc/emulator/calls/calls.h"
#include "cc/emulator/calls/cuda_api.h"
#include "cc/emulator/calls/log.h"
#include "cc/emulator/calls/settings.h"
#include "cc/emulator/device/context.h"
#include "cc/emulator/device/machine.h"
#include "cc/emulator/streams/capture.h"
#include "cc/emulator/streams/events.h"
#include "cc/emulator/streams/streams.h"

namespace gmlake::emulator {
namespace {

constexpr int64_t kPollUs = 50;

Operation HostOperation(const char* what, std::function<void()> run) {
  Operation operation;
  operation.what = what;
  operation.type = CU_GRAPH_NODE_TYPE_HOST;
  operation.run = std::move(run);
  return operation;
}

// Calls on a stream that CUDA forbids while that stream, or (for the default stream) any, is being captured.
CUresult CheckMayWaitFor(CUstream stream, const char* call) {
  if (const CUresult alive = CheckStream(stream, call); alive != CUDA_SUCCESS) return alive;
  if (IsDefaultStream(stream)) return CheckOutsideCapture(call);
  const CUresult captured = CheckNotCaptured(stream, call);
  return captured == CUDA_SUCCESS ? CheckOutsideCapture(call) : captured;
}

CUresult CheckMayAsk(CUevent event, const char* call) {
  if (const auto capture = event->LastCapture()) {
    Violation(Rule::kCapture, "%s of an event that was recorded in a capture", call);
    capture->Invalidate();
    return CUDA_ERROR_CAPTURED_EVENT;
  }
  return CheckOutsideCapture(call);
}

// What waits for a value polls it; in synchronous mode nothing could ever write it, so nothing waits.
template <typename T>
CUresult WaitForValue(CUstream stream, uint64_t address, T wanted) {
  if (!settings().async) return CUDA_SUCCESS;
  return Submit(stream, HostOperation("stream wait value", [address, wanted] {
                  const T* const value = reinterpret_cast<const T*>(address);
                  while (static_cast<std::make_signed_t<T>>(__atomic_load_n(value, __ATOMIC_SEQ_CST) - wanted) < 0) {
                    usleep(kPollUs);
                  }
                }));
}

template <typename T>
CUresult WriteValue(CUstream stream, uint64_t address, T value) {
  Operation write = HostOperation("stream write value", [address, value] {
    __atomic_store_n(reinterpret_cast<T*>(address), value, __ATOMIC_SEQ_CST);
  });
  write.spans = {{address, sizeof(T), DeviceOf(stream), /*is_write=*/true, /*is_copy=*/true}};
  if (!CheckSpan(write.spans[0], "stream write value", Moment::kCall)) return CUDA_ERROR_INVALID_VALUE;
  return Submit(stream, std::move(write));
}

void AfterSynchronization() {
  ExclusiveAccess access;
  machine().ReleaseIdlePoolMemory();
}

bool IsTimed(CUevent event) { return (event->flags & CU_EVENT_DISABLE_TIMING) == 0; }

CUresult Elapsed(float* milliseconds, CUevent start, CUevent end) {
  const auto first = start->Last(), last = end->Last();
  if (!first || !last || !IsTimed(start) || !IsTimed(end)) return CUDA_ERROR_INVALID_HANDLE;
  first->Wait();
  last->Wait();
  const std::chrono::duration<float, std::milli> elapsed = last->time() - first->time();
  *milliseconds = std::max(elapsed.count(), 1e-3f);  // nothing takes no time, and XLA divides by it
  return CUDA_SUCCESS;
}

}  // namespace
}  // namespace gmlake::emulator

using namespace gmlake::emulator;  // NOLINT: entry points are in the global namespace

CUresult CUDAAPI cuStreamCreate(CUstream* stream, unsigned flags) {
  GMLAKE_ENTRY();
  *stream = CreateStream(CurrentDevice(), flags, 0);
  return CUDA_SUCCESS;
}

CUresult CUDAAPI cuStreamCreateWithPriority(CUstream* stream, unsigned flags, int priority) {
  GMLAKE_ENTRY();
  *stream = CreateStream(CurrentDevice(), flags, priority);
  return CUDA_SUCCESS;
}

CUresult CUDAAPI cuStreamDestroy(CUstream stream) {
  GMLAKE_ENTRY();
  return DestroyStream(stream);
}

CUresult CUDAAPI cuStreamSynchronize(CUstream stream) {
  GMLAKE_ENTRY();
  if (const CUresult captured = CheckMayWaitFor(stream, __func__); captured != CUDA_SUCCESS) return captured;
  Drain(stream);
  AfterSynchronization();
  return CUDA_SUCCESS;
}

CUresult CUDAAPI cuStreamQuery(CUstream stream) {
  GMLAKE_ENTRY();
  if (const CUresult captured = CheckMayWaitFor(stream, __func__); captured != CUDA_SUCCESS) return captured;
  return IsDefaultStream(stream) || stream->queue->IsIdle() ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
}

CUresult CUDAAPI cuStreamGetPriority(CUstream stream, int* priority) {
  GMLAKE_ENTRY();
  *priority = IsDefaultStream(stream) ? 0 : stream->priority;
  return CUDA_SUCCESS;
}

CUresult CUDAAPI cuStreamGetFlags(CUstream stream, unsigned* flags) {
  GMLAKE_ENTRY();
  *flags = IsDefaultStream(stream) ? 0 : stream->flags;
  return CUDA_SUCCESS;
}

CUresult CUDAAPI cuStreamGetId(CUstream stream, unsigned long long* id) {
  GMLAKE_ENTRY();
  *id = IsDefaultStream(stream) ? 0 : stream->id;
  return CUDA_SUCCESS;
}

CUresult CUDAAPI cuStreamGetCtx(CUstream stream, CUcontext* context) {
  GMLAKE_ENTRY();
  *context = &machine().devices[DeviceOf(stream)].primary_context;
  return CUDA_SUCCESS;
}

CUresult CUDAAPI cuStreamGetDevice(CUstream stream, CUdevice* device) {
  GMLAKE_ENTRY();
  *device = DeviceOf(stream);
  return CUDA_SUCCESS;
}

CUresult CUDAAPI cuEventCreate(CUevent* event, unsigned flags) {
  GMLAKE_ENTRY();
  *event = new CUevent_st;
  (*event)->flags = flags;
  return CUDA_SUCCESS;
}

CUresult CUDAAPI cuEventDestroy(CUevent event) {
  GMLAKE_ENTRY();
  delete event;
  return CUDA_SUCCESS;
}

CUresult CUDAAPI cuEventRecord(CUevent event, CUstream stream) {
  GMLAKE_ENTRY();
  return RecordEvent(event, stream);
}

CUresult CUDAAPI cuEventRecordWithFlags(CUevent event, CUstream stream, unsigned) {
  GMLAKE_ENTRY();
  return RecordEvent(event, stream);
}

CUresult CUDAAPI cuEventQuery(CUevent event) {
  GMLAKE_ENTRY();
  if (const CUresult captured = CheckMayAsk(event, __func__); captured != CUDA_SUCCESS) return captured;
  const auto recording = event->Last();
  return recording == nullptr || recording->IsComplete() ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
}

CUresult CUDAAPI cuEventSynchronize(CUevent event) {
  GMLAKE_ENTRY();
  if (const CUresult captured = CheckMayAsk(event, __func__); captured != CUDA_SUCCESS) return captured;
  if (const auto recording = event->Last()) recording->Wait();
  AfterSynchronization();
  return CUDA_SUCCESS;
}

CUresult CUDAAPI cuEventElapsedTime(float* milliseconds, CUevent start, CUevent end) {
  GMLAKE_ENTRY();
  return Elapsed(milliseconds, start, end);
}

CUresult CUDAAPI cuStreamWaitEvent(CUstream stream, CUevent event, unsigned) {
  GMLAKE_ENTRY();
  return WaitForEvent(stream, event);
}

CUresult CUDAAPI cuLaunchHostFunc(CUstream stream, CUhostFn function, void* data) {
  GMLAKE_ENTRY();
  return Submit(stream, HostOperation("host function", [function, data] { function(data); }));
}

CUresult CUDAAPI cuStreamAddCallback(CUstream stream, CUstreamCallback function, void* data, unsigned) {
  GMLAKE_ENTRY();
  return Submit(stream, HostOperation("callback", [stream, function, data] { function(stream, CUDA_SUCCESS, data); }));
}

CUresult CUDAAPI cuStreamWriteValue32(CUstream stream, CUdeviceptr address, cuuint32_t value, unsigned) {
  GMLAKE_ENTRY();
  return WriteValue<uint32_t>(stream, address, value);
}

CUresult CUDAAPI cuStreamWriteValue64(CUstream stream, CUdeviceptr address, cuuint64_t value, unsigned) {
  GMLAKE_ENTRY();
  return WriteValue<uint64_t>(stream, address, value);
}

CUresult CUDAAPI cuStreamWaitValue32(CUstream stream, CUdeviceptr address, cuuint32_t value, unsigned) {
  GMLAKE_ENTRY();
  return WaitForValue<uint32_t>(stream, address, value);
}

CUresult CUDAAPI cuStreamWaitValue64(CUstream stream, CUdeviceptr address, cuuint64_t value, unsigned) {
  GMLAKE_ENTRY();
  return WaitForValue<uint64_t>(stream, address, value);
}

CUresult CUDAAPI cuStreamBeginCapture(CUstream stream, CUstreamCaptureMode mode) {
  GMLAKE_ENTRY();
  return BeginCapture(stream, nullptr, mode);
}

CUresult CUDAAPI cuStreamBeginCaptureToGraph(CUstream stream, CUgraph graph, const CUgraphNode*, const CUgraphEdgeData*,
                                             size_t, CUstreamCaptureMode mode) {
  GMLAKE_ENTRY();
  return BeginCapture(stream, graph, mode);
}

CUresult CUDAAPI cuStreamEndCapture(CUstream stream, CUgraph* graph) {
  GMLAKE_ENTRY();
  return EndCapture(stream, graph);
}

CUresult CUDAAPI cuStreamIsCapturing(CUstream stream, CUstreamCaptureStatus* status) {
  GMLAKE_ENTRY();
  if (const CUresult alive = CheckStream(stream, __func__); alive != CUDA_SUCCESS) return alive;
  const bool is_captured = !IsDefaultStream(stream) && stream->capture != nullptr;
  *status = !is_captured                  ? CU_STREAM_CAPTURE_STATUS_NONE
            : stream->capture->is_valid() ? CU_STREAM_CAPTURE_STATUS_ACTIVE
                                          : CU_STREAM_CAPTURE_STATUS_INVALIDATED;
  return CUDA_SUCCESS;
}

CUresult CUDAAPI cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode* mode) {
  GMLAKE_ENTRY();
  *mode = ExchangeThreadMode(*mode);
  return CUDA_SUCCESS;
}
