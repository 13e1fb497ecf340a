// The Python module `_gmlake`: the C API of libgmlake_pjrt.so, and the replay (replay_bindings.h). Thin on purpose;
// what the numbers mean and what the options do is said in gmlake_jax/stats.py and
// gmlake_jax/config.py.
//
// A failed Status becomes a RuntimeError with its message; the Python package turns it into its own
// error types.
#include <nanobind/nanobind.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>

#include <map>
#include <string>
#include <utility>

#include "cc/python/history_bindings.h"
#include "cc/python/library.h"
#include "cc/python/raise.h"
#include "cc/python/replay_bindings.h"
#include "cc/python/sleep_bindings.h"
#include "cc/python/stats_dict.h"
#include "cc/python/without_gil.h"

namespace gmlake {
namespace {

namespace nb = nanobind;
using nb::literals::operator""_a;

// Whether every device can be served, and the report that says so.
std::pair<bool, std::string> Probe(const Library& library, const std::optional<std::string>& driver_path) {
  const StatusOr<std::string> report = library.Probe(driver_path);
  return {report.ok(), report.ok() ? *report : report.status().message()};
}

void DefineLibrary(nb::module_& m) {
  nb::class_<Library> library(m, "Library");
  DefineHistory(library);
  library
      .def(
          "__init__", [](Library* self, const std::string& path) { new (self) Library(Take(Library::Open(path))); },
          "path"_a)
      .def(
          "install",
          [](const Library& self, const std::string& stock_path, const std::map<std::string, std::string>& options) {
            Check(self.Install(stock_path, options));
          },
          "stock_path"_a, "options"_a, WithoutGil())
      .def("is_installed", &Library::is_installed, WithoutGil())
      .def("num_devices", &Library::num_devices, WithoutGil())
      .def("state", &Library::state, WithoutGil())
      .def(
          "stats",
          [](const Library& self, int device) { return ToDict(Take(Unlocked([&] { return self.Stats(device); }))); },
          "device"_a)
      .def(
          "reset_peaks", [](const Library& self, int device) { Check(self.ResetPeaks(device)); }, "device"_a,
          WithoutGil())
      .def(
          "trim",
          [](const Library& self, int device, int64_t target_bytes) {
            return Take(self.Trim(device, Bytes(target_bytes))).count();
          },
          "device"_a, "target_bytes"_a, WithoutGil())
      .def(
          "set_limit",
          [](const Library& self, int device, int64_t limit) { Check(self.SetLimit(device, Bytes(limit))); },
          "device"_a, "limit_bytes"_a, WithoutGil())
      .def("probe", &Probe, "driver_path"_a = nb::none(), WithoutGil());
  DefineSleep(library);
}

}  // namespace
}  // namespace gmlake

NB_MODULE(_gmlake, m) {
  nanobind::set_leak_warnings(false);  // a daemon thread that is inside a call when the program ends is no leak
  m.doc() = "The C API of libgmlake_pjrt.so, and the replay of traces.";
  gmlake::DefineLibrary(m);
  gmlake::DefineReplay(m);
}
