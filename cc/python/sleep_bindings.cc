#include "cc/python/sleep_bindings.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/vector.h>

#include <optional>
#include <utility>
#include <vector>

#include "cc/python/raise.h"
#include "cc/python/without_gil.h"

namespace gmlake {
namespace {

namespace nb = nanobind;
using nb::literals::operator""_a;

nb::dict ToDict(const GmlakeSleepReport& report) {
  nb::dict result;
  result["copied_bytes"] = report.copied_bytes;
  result["dropped_bytes"] = report.dropped_bytes;
  result["given_bytes"] = report.given_bytes;
  result["copy_seconds"] = report.copy_seconds;
  result["total_seconds"] = report.total_seconds;
  return result;
}

// While these two run, other Python threads do too: one of them may hold what the device waits for.
nb::dict Sleep(const Library& library, int device, const std::vector<int32_t>& dropped_tags, int64_t patience_ms) {
  return ToDict(Take(Unlocked([&] { return library.Sleep(device, dropped_tags, patience_ms); })));
}

nb::dict Wake(const Library& library, int device) {
  return ToDict(Take(Unlocked([&] { return library.Wake(device); })));
}

bool IsAsleep(const Library& library, int device) { return Take(library.IsAsleep(device)); }

std::vector<uint64_t> SharedAddresses(const Library& library, int device) {
  return Take(library.SharedAddresses(device));
}

void PrepareSleep(const Library& library, int device, std::optional<int64_t> bytes) {
  Check(library.PrepareSleep(device, bytes));
}

int64_t Unprepared(const Library& library, int device) { return Take(library.Unprepared(device)); }

void ReleaseHostStore(const Library& library, int device) { Check(library.ReleaseHostStore(device)); }

// Free and total bytes of the device.
std::pair<int64_t, int64_t> DeviceMemoryOf(const Library& library, int device) {
  const Library::DeviceMemory memory = Take(library.QueryMemory(device));
  return {memory.free, memory.total};
}

}  // namespace

void DefineSleep(nb::class_<Library>& library) {
  library.def("sleep", &Sleep, "device"_a, "dropped_tags"_a, "patience_ms"_a)
      .def("wake", &Wake, "device"_a)
      .def("is_asleep", &IsAsleep, "device"_a, WithoutGil())
      .def("tag", &Library::Tag, "device"_a, "address"_a, "tag"_a, WithoutGil())
      .def("shared_addresses", &SharedAddresses, "device"_a, WithoutGil())
      .def("prepare_sleep", &PrepareSleep, "device"_a, "bytes"_a.none(), WithoutGil())
      .def("unprepared", &Unprepared, "device"_a, WithoutGil())
      .def("release_host_store", &ReleaseHostStore, "device"_a, WithoutGil())
      .def("device_memory", &DeviceMemoryOf, "device"_a, WithoutGil());
}

}  // namespace gmlake
