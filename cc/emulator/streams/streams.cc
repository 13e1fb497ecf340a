#include "cc/emulator/streams/streams.h"

#include <algorithm>
#include <mutex>
#include <vector>

#include "cc/emulator/calls/log.h"
#include "cc/emulator/calls/settings.h"
#include "cc/emulator/device/context.h"
#include "cc/emulator/streams/capture.h"

namespace gmlake::emulator {
namespace {

// A queue as the machine sees it: it stays here until it is idle, also when its stream is gone.
struct QueueEntry {
  int device;
  bool is_blocking;
  bool is_orphan = false;
  std::shared_ptr<WorkQueue> queue;
};

struct Registry {
  std::mutex mutex;
  std::vector<QueueEntry> queues;
  std::vector<std::unique_ptr<CUstream_st>> streams;  // all there ever were
  uint64_t next_id = 1;
};

Registry& registry() {
  static auto* const all = new Registry;
  return *all;
}

template <typename Wanted>
std::vector<std::shared_ptr<WorkQueue>> QueuesWhere(Wanted wanted) {
  std::lock_guard<std::mutex> lock(registry().mutex);
  std::vector<std::shared_ptr<WorkQueue>> found;
  for (const QueueEntry& entry : registry().queues) {
    if (wanted(entry)) found.push_back(entry.queue);
  }
  return found;
}

template <typename Wanted>
void DrainWhere(Wanted wanted) {
  if (!settings().async) return;
  for (const auto& queue : QueuesWhere(wanted)) queue->Drain();
}

void ForgetIdleOrphans() {
  auto& queues = registry().queues;
  const auto is_done = [](const QueueEntry& entry) { return entry.is_orphan && entry.queue->IsIdle(); };
  queues.erase(std::remove_if(queues.begin(), queues.end(), is_done), queues.end());
}

// Looked for once the work is queued: of two threads that queue at the same time, one sees the other's.
void CheckOrder(const std::shared_ptr<WorkQueue>& queue, const std::string& what, const std::vector<Place>& places,
                const Clock& clock) {
  for (const auto& other : QueuesWhere([&](const QueueEntry& entry) { return entry.queue != queue; })) {
    const std::string found = other->FindUnordered(places, clock);
    if (found.empty()) continue;
    return Violation(Rule::kRace, "%s meets the bytes of a %s on another stream, and nothing orders the two",
                     what.c_str(), found.c_str());
  }
}

void Enqueue(const std::shared_ptr<WorkQueue>& queue, Operation operation) {
  const std::string what = operation.what;
  std::vector<Place> places;
  if (settings().async && settings().checks) places = PlacesOf(operation);
  const Clock clock = queue->Push(std::move(operation), places);
  if (!places.empty()) CheckOrder(queue, what, places, clock);
}

}  // namespace

CUstream CreateStream(int device, unsigned flags, int priority) {
  auto queue = std::make_shared<WorkQueue>();
  queue->Start();
  std::lock_guard<std::mutex> lock(registry().mutex);
  ForgetIdleOrphans();
  CUstream stream = new CUstream_st{device, flags, priority, registry().next_id++, queue, nullptr};
  registry().streams.emplace_back(stream);
  registry().queues.push_back({device, (flags & CU_STREAM_NON_BLOCKING) == 0, false, queue});
  return stream;
}

CUresult DestroyStream(CUstream stream) {
  if (const CUresult alive = CheckStream(stream, "cuStreamDestroy"); alive != CUDA_SUCCESS) return alive;
  std::lock_guard<std::mutex> lock(registry().mutex);
  stream->is_destroyed = true;
  for (QueueEntry& entry : registry().queues) {
    if (entry.queue == stream->queue) entry.is_orphan = true;
  }
  stream->queue->Close();
  ForgetIdleOrphans();
  return CUDA_SUCCESS;
}

CUresult CheckStream(CUstream stream, const char* use) {
  if (IsDefaultStream(stream) || !stream->is_destroyed) return CUDA_SUCCESS;
  Violation(Rule::kHandle, "%s on a stream that was destroyed", use);
  return CUDA_ERROR_INVALID_HANDLE;
}

int DeviceOf(CUstream stream) { return IsDefaultStream(stream) ? CurrentDevice() : stream->device; }

CUresult Submit(CUstream stream, Operation operation) {
  if (const CUresult alive = CheckStream(stream, operation.what.c_str()); alive != CUDA_SUCCESS) return alive;
  if (IsDefaultStream(stream)) {
    Drain(stream);
    Execute(operation);
  } else if (stream->capture != nullptr) {
    stream->capture->Record(std::move(operation));
  } else {
    Enqueue(stream->queue, std::move(operation));
  }
  return CUDA_SUCCESS;
}

void Drain(CUstream stream) {
  if (!IsDefaultStream(stream)) return stream->queue->Drain();
  const int device = CurrentDevice();
  DrainWhere([device](const QueueEntry& entry) { return entry.device == device && entry.is_blocking; });
}

void DrainDevice(int device) {
  DrainWhere([device](const QueueEntry& entry) { return entry.device == device; });
}

void DrainAllDevices() {
  DrainWhere([](const QueueEntry&) { return true; });
}

std::string FindPendingWork(uint64_t begin, size_t size) {
  if (!settings().async || !settings().checks) return "";
  for (const auto& queue : QueuesWhere([](const QueueEntry&) { return true; })) {
    std::string what = queue->FindPending(begin, size);
    if (!what.empty()) return what;
  }
  return "";
}

}  // namespace gmlake::emulator
