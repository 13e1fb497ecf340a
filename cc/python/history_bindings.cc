#include "cc/python/history_bindings.h"

#include <dlfcn.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cc/python/library.h"
#include "cc/python/oom_mailbox.h"
#include "cc/python/raise.h"
#include "cc/python/stats_dict.h"
#include "cc/python/without_gil.h"

namespace gmlake {
namespace {

namespace nb = nanobind;
using nb::literals::operator""_a;

constexpr std::chrono::seconds kPatience(30);  // for what the program does about a out-of-memory event
constexpr int kMostDevices = 64;

void CheckDevice(bool found, int device) {
  if (found) return;
  Check(Status(StatusCode::kInvalidArgument,
               "gmlake_jax serves no device " + std::to_string(device) + " in this process"));
}

// What a function of the C API that explains itself has said.
Status Said(int result, const char* message) {
  return result == 0 ? OkStatus() : Status(StatusCode::kFailedPrecondition, message);
}

nb::bytes ToBytes(const GmlakeRows& rows) { return nb::bytes(static_cast<const char*>(rows.data), rows.bytes); }

nb::dict ToDict(const GmlakeHistory& history) {
  nb::dict result;
  result["ranges"] = ToBytes(history.ranges);
  result["blocks"] = ToBytes(history.blocks);
  result["mappings"] = ToBytes(history.mappings);
  result["leases"] = ToBytes(history.leases);
  result["events"] = ToBytes(history.events);
  result["stats"] = ToDict(*history.stats);
  result["device_name"] = history.device_name;
  result["program"] = history.program;
  result["annotations"] = std::vector<std::string>(history.labels, history.labels + history.num_labels);
  result["time_ns"] = history.time_ns;
  result["start_unix_ns"] = history.start_unix_ns;
  result["dropped"] = history.dropped;
  return result;
}

nb::dict ToDict(const TrackStats& stats) {
  nb::dict result;
  result["bytes_at_start"] = stats.bytes_at_start;
  result["bytes_in_use"] = stats.bytes_in_use;
  result["peak_bytes"] = stats.peak_bytes;
  result["bytes_allocated"] = stats.bytes_allocated;
  result["bytes_stitched"] = stats.bytes_stitched;
  result["num_allocs"] = stats.num_allocs;
  result["num_frees"] = stats.num_frees;
  result["num_failures"] = stats.num_failures;
  return result;
}

nb::dict ToDict(const OomNote& note) {
  nb::dict result;
  result["device"] = note.device;
  result["asked_bytes"] = note.asked_bytes;
  result["bytes_in_use"] = note.bytes_in_use;
  result["bytes_limit"] = note.bytes_limit;
  result["largest_servable"] = note.largest_servable;
  result["annotation"] = note.label;
  result["report"] = note.report;
  return result;
}

// Never destroyed: a thread may ask while the process ends.
OomMailbox& Mailbox() {
  static OomMailbox* const mailbox = new OomMailbox;
  return *mailbox;
}

// Whether the calling thread holds Python's lock. Not in the stable ABI, so looked up; without it, we take it that not.
bool HoldsGil() {
  static const auto check = reinterpret_cast<int (*)()>(dlsym(RTLD_DEFAULT, "PyGILState_Check"));
  return check != nullptr && check() != 0;
}

// The thread that answers needs Python's lock, so this one must not keep it meanwhile.
int AskPython(const GmlakeOomEvent* oom_event) {
  const OomNote note{oom_event->device,      oom_event->asked_bytes,      oom_event->bytes_in_use,
                     oom_event->bytes_limit, oom_event->largest_servable, oom_event->label,
                     oom_event->report};
  std::optional<GilReleased> released;
  if (HoldsGil()) released.emplace();
  switch (Mailbox().Ask(note, kPatience)) {
    case OomAnswer::kYes: return GMLAKE_RETRY;
    case OomAnswer::kMeanwhile: return GMLAKE_RETRY_MEANWHILE;
    case OomAnswer::kNo: break;
  }
  return GMLAKE_NO_RETRY;
}

std::vector<int> Ordinals(const Library& library) {
  int ordinals[kMostDevices];
  const int count = library.history().ordinals(ordinals, kMostDevices);
  return std::vector<int>(ordinals, ordinals + std::min(count, kMostDevices));
}

nb::dict TakeHistory(const Library& library, int device, bool with_events) {
  const GmlakeHistoryApi& api = library.history();
  GmlakeHistory* const taken = Unlocked([&] { return api.take(device, with_events); });
  CheckDevice(taken != nullptr, device);
  const std::unique_ptr<GmlakeHistory, void (*)(GmlakeHistory*)> history(taken, api.drop);
  return ToDict(*history);
}

void Write(const Library& library, int device, const std::string& path, bool with_events) {
  char message[1024] = "no such device";
  const int result = library.history().write(device, path.c_str(), with_events, message, sizeof message);
  Check(Said(result, message));
}

void WriteRecordings(const Library& library) {
  char message[1024] = "";
  const int result = library.history().write_recordings(message, sizeof message);
  Check(Said(result, message));
}

nb::dict ReadTrack(const Library& library, int device, int64_t track, bool end) {
  TrackStats stats;
  const int result = Unlocked([&] { return library.history().read_track(device, track, &stats, end); });
  Check(Said(result, "there is no such track"));
  return ToDict(stats);
}

nb::object NextOomEvent(int patience_ms) {
  const auto note = Unlocked([&] { return Mailbox().Next(std::chrono::milliseconds(patience_ms)); });
  return note.has_value() ? nb::object(ToDict(*note)) : nb::none();
}

void DefineTables(nb::class_<Library>& library) {
  library.def("ordinals", &Ordinals, WithoutGil())
      .def(
          "record",
          [](const Library& self, int device, int64_t max_events) {
            char message[1024] = "";
            const int result = self.history().record(device, max_events, message, sizeof message);
            Check(Said(result, message));
          },
          "device"_a, "max_events"_a, WithoutGil())
      .def(
          "is_recording", [](const Library& self, int device) { return self.history().is_recording(device) == 1; },
          "device"_a, WithoutGil())
      .def(
          "mark",
          [](const Library& self, int device, const std::string& name) {
            CheckDevice(self.history().mark(device, name.c_str()) == 0, device);
          },
          "device"_a, "name"_a, WithoutGil())
      .def("take", &TakeHistory, "device"_a, "with_events"_a)
      .def("write", &Write, "device"_a, "path"_a, "with_events"_a, WithoutGil())
      .def("write_recordings", &WriteRecordings, WithoutGil());
}

void DefineWatching(nb::class_<Library>& library) {
  library
      .def(
          "enter_label",
          [](const Library& self, const std::string& name) { return self.history().enter_label(name.c_str()); },
          "name"_a)
      .def(
          "leave_label", [](const Library& self, int before) { self.history().leave_label(before); }, "before"_a)
      .def(
          "begin_track",
          [](const Library& self, int device, const std::string& name) {
            const int64_t track = self.history().begin_track(device, name.c_str());
            CheckDevice(track >= 0, device);
            return track;
          },
          "device"_a, "name"_a, WithoutGil())
      .def("read_track", &ReadTrack, "device"_a, "track"_a, "end"_a)
      .def(
          "answer_oom_events",
          [](const Library& self, bool on) {
            self.history().on_oom_event(on ? &AskPython : nullptr);
            if (!on) Mailbox().Wake();
          },
          "on"_a)
      .def(
          "next_oom_event", [](const Library&, int patience_ms) { return NextOomEvent(patience_ms); }, "patience_ms"_a)
      .def("answer_oom_event", [](const Library&, bool may_retry) { Mailbox().Answer(may_retry); }, "may_retry"_a);
}

}  // namespace

void DefineHistory(nb::class_<Library>& library) {
  DefineTables(library);
  DefineWatching(library);
}

}  // namespace gmlake
