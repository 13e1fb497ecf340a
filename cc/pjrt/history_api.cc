// The watching part of the C API: plain C values become calls of the classes behind it. No decision is made here.
#include "cc/pjrt/abi/history_api.h"

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "cc/pjrt/c_api_util.h"
#include "cc/pjrt/oom/oom_tracker.h"
#include "cc/pjrt/oom/recording_file.h"
#include "cc/pjrt/patch/exception_barrier.h"
#include "cc/report/history_file.h"
#include "cc/report/program_name.h"
#include "cc/telemetry/labels.h"

namespace gmlake {
namespace {

// What a GmlakeHistory points into.
struct OwnedHistory : GmlakeHistory {
  Snapshot snapshot;
  Recording recording;
  std::string name;
  std::string program;
  std::vector<std::string> paths;
  std::vector<const char*> path_pointers;
};

template <typename Row>
GmlakeRows RowsOf(const std::vector<Row>& rows) {
  return {rows.data(), rows.size() * sizeof(Row)};
}

// Fills in the pointers, once everything is where it stays.
void Publish(OwnedHistory* owned) {
  for (const std::string& path : owned->paths) owned->path_pointers.push_back(path.c_str());
  static_cast<GmlakeHistory&>(*owned) = {RowsOf(owned->snapshot.ranges),
                                         RowsOf(owned->snapshot.blocks),
                                         RowsOf(owned->snapshot.mappings),
                                         RowsOf(owned->snapshot.leases),
                                         RowsOf(owned->recording.events),
                                         &owned->snapshot.stats,
                                         owned->name.c_str(),
                                         owned->program.c_str(),
                                         owned->path_pointers.data(),
                                         static_cast<int64_t>(owned->paths.size()),
                                         owned->snapshot.time_ns,
                                         UnixNsOfMonotonicZero() + owned->recording.start_ns,
                                         owned->recording.dropped};
}

int Ordinals(int* ordinals, int capacity) {
  int count = 0;
  for (int ordinal : ServedOrdinals()) {
    if (count < capacity) ordinals[count] = ordinal;
    ++count;
  }
  return count;
}

int Record(int ordinal, int64_t max_events, char* message, size_t size) {
  ServedDevice* device = FindDevice(ordinal);
  if (device == nullptr) return Answer(NotServed(ordinal), message, size);
  const Status possible = CheckRecordEvents(max_events);
  if (possible.ok()) device->core().Record(max_events);
  return Answer(possible, message, size);
}

int IsRecording(int ordinal) {
  ServedDevice* device = FindDevice(ordinal);
  return device == nullptr ? -1 : device->core().is_recording() ? 1 : 0;
}

int MarkMoment(int ordinal, const char* name) {
  ServedDevice* device = FindDevice(ordinal);
  if (device == nullptr) return -1;
  const int32_t label = InternLabel(kNoLabel, name);
  const int32_t before = CurrentLabel();
  SetCurrentLabel(label);
  Attempt([&] { device->core().MarkMoment(); });
  SetCurrentLabel(before);
  return 0;
}

GmlakeHistory* Take(int ordinal, int with_events) {
  ServedDevice* device = FindDevice(ordinal);
  if (device == nullptr) return nullptr;
  auto owned = std::make_unique<OwnedHistory>();
  owned->snapshot = device->core().TakeSnapshot(with_events != 0 ? &owned->recording : nullptr);
  owned->paths = LabelPaths();
  owned->name = device->name();
  owned->program = ProgramName();
  if (owned->recording.start_ns == 0) owned->recording.start_ns = owned->snapshot.time_ns;
  RebaseTimes(owned->recording.start_ns, &owned->snapshot);
  Publish(owned.get());
  return owned.release();
}

void Drop(GmlakeHistory* history) { delete static_cast<OwnedHistory*>(history); }

int Write(int ordinal, const char* path, int with_events, char* message, size_t size) {
  ServedDevice* device = FindDevice(ordinal);
  if (device == nullptr) return -1;
  Recording recording;
  Snapshot snapshot = device->core().TakeSnapshot(&recording);
  const std::string content = EncodeHistory({ordinal, device->name()}, std::move(snapshot),
                                            with_events != 0 ? &recording : nullptr, LabelPaths());
  return Answer(WriteWholeFile(path, content), message, size);
}

int WriteRecordings(char* message, size_t size) {
  const std::string path = OomTracker::Instance().options().recording;
  Status result;
  for (int ordinal : ServedOrdinals()) {
    const Status written = path.empty() ? OkStatus() : WriteRecording(FindDevice(ordinal), path);
    if (!written.ok()) result = written;
  }
  return Answer(result, message, size);
}

// The label stays where the host has no memory for another.
int32_t EnterLabel(const char* name) {
  const int32_t before = CurrentLabel();
  Attempt([&] { SetCurrentLabel(InternLabel(before, name)); });
  return before;
}

void LeaveLabel(int32_t before) { SetCurrentLabel(before); }

int64_t BeginTrack(int ordinal, const char* name) {
  ServedDevice* device = FindDevice(ordinal);
  return device == nullptr ? -1 : device->core().BeginTrack(name);
}

int ReadTrack(int ordinal, int64_t track, TrackStats* stats, int end) {
  ServedDevice* device = FindDevice(ordinal);
  return device != nullptr && device->core().ReadTrack(track, stats, end != 0) ? 0 : -1;
}

void OnOomEvent(GmlakeOomCallback callback) { OomTracker::Instance().SetCallback(callback); }

template <auto kFunction>
constexpr auto At() {
  return ExceptionBarrier<kFunction, AnswerAsCApi>::Wrap().get();
}

}  // namespace

const GmlakeHistoryApi* HistoryApi() {
  static const GmlakeHistoryApi api = {At<&Ordinals>(),   At<&Record>(),     At<&IsRecording>(), At<&MarkMoment>(),
                                       At<&Take>(),       At<&Drop>(),       At<&Write>(),       At<&WriteRecordings>(),
                                       At<&EnterLabel>(), At<&LeaveLabel>(), At<&BeginTrack>(),  At<&ReadTrack>(),
                                       At<&OnOomEvent>()};
  return &api;
}

}  // namespace gmlake
