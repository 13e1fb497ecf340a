#include "cc/python/replay_bindings.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cstring>
#include <utility>
#include <vector>

#include "cc/bench/churn.h"
#include "cc/bench/policies.h"
#include "cc/bench/recorded_replay.h"
#include "cc/bench/replay.h"
#include "cc/bench/replay_json.h"
#include "cc/bench/trace.h"
#include "cc/python/raise.h"

namespace gmlake {
namespace {

namespace nb = nanobind;
using nb::literals::operator""_a;

// One column of a trace: int64, as numpy's tobytes() gives them.
class Column {
 public:
  explicit Column(const nb::bytes& bytes) : bytes_(bytes) {}
  size_t size() const { return bytes_.size() / sizeof(int64_t); }
  int64_t operator[](size_t i) const {
    int64_t value;
    std::memcpy(&value, bytes_.c_str() + i * sizeof(value), sizeof(value));
    return value;
  }

 private:
  const nb::bytes& bytes_;
};

bench::Trace TraceFromColumns(std::string name, const nb::bytes& op, const nb::bytes& id, const nb::bytes& size,
                              const nb::bytes& stream, const nb::bytes& time_us) {
  const Column ops(op), ids(id), sizes(size), streams(stream), times(time_us);
  for (const Column* column : {&ids, &sizes, &streams, &times}) {
    if (column->size() != ops.size())
      Check(Status(StatusCode::kInvalidArgument, name + ": arrays of different lengths"));
  }
  std::vector<bench::RawEvent> events;
  events.reserve(ops.size());
  for (size_t i = 0; i < ops.size(); ++i) events.push_back({ops[i], ids[i], sizes[i], streams[i], times[i]});
  return Take(bench::MakeTrace(std::move(name), events));
}

bench::Trace Churn(std::string name, double utilisation, int64_t limit_bytes, int requests, uint64_t seed) {
  return Take(bench::MakeTrace(std::move(name), bench::MakeChurn({utilisation, Bytes(limit_bytes), requests, seed})));
}

std::string Replay(const bench::Trace& trace, std::string policy, std::optional<int64_t> limit_bytes,
                   bool find_min_limit, int passes, int repeats, bool verify, std::optional<nb::callable> progress) {
  bench::ReplayOptions options;
  options.policy = std::move(policy);
  if (limit_bytes) options.limit = Bytes(*limit_bytes);
  options.find_min_limit = find_min_limit;
  options.passes = passes;
  options.repeats = repeats;
  options.verify = verify;
  if (progress) options.progress = [&](double share) { (*progress)(share); };
  return bench::ToJson(Take(bench::Replay(trace, options)));
}

// Rows of gmlake_jax.history.schema.EVENT.
nb::bytes RecordReplay(const bench::Trace& trace, const std::string& policy, std::optional<int64_t> limit_bytes) {
  std::optional<Bytes> limit;
  if (limit_bytes) limit = Bytes(*limit_bytes);
  const Recording recording = Take(bench::RecordReplay(trace, policy, limit));
  return nb::bytes(reinterpret_cast<const char*>(recording.events.data()), recording.events.size() * sizeof(Event));
}

}  // namespace

void DefineReplay(nb::module_& m) {
  nb::class_<bench::Trace>(m, "Trace")
      .def(
          "__init__",
          [](bench::Trace* self, std::string name, const nb::bytes& op, const nb::bytes& id, const nb::bytes& size,
             const nb::bytes& stream, const nb::bytes& time_us) {
            new (self) bench::Trace(TraceFromColumns(std::move(name), op, id, size, stream, time_us));
          },
          "name"_a, nb::kw_only(), "op"_a, "id"_a, "size"_a, "stream"_a, "time_us"_a)
      .def_ro("name", &bench::Trace::name)
      .def_ro("duration_us", &bench::Trace::duration_us)
      .def_prop_ro("events", [](const bench::Trace& self) { return self.events.size(); })
      .def_prop_ro("peak_live_bytes", [](const bench::Trace& self) { return self.peak_live.count(); });
  // The GIL stays held: progress is a Python function, called often, and may raise (Ctrl-C does).
  m.def("replay", &Replay, "trace"_a, nb::kw_only(), "policy"_a = "gmlake", "limit_bytes"_a = nb::none(),
        "find_min_limit"_a = false, "passes"_a = 1, "repeats"_a = 11, "verify"_a = false, "progress"_a = nb::none());
  m.def("record_replay", &RecordReplay, "trace"_a, nb::kw_only(), "policy"_a = "gmlake", "limit_bytes"_a = nb::none());
  m.def("churn", &Churn, "name"_a, nb::kw_only(), "utilisation"_a, "limit_bytes"_a, "requests"_a, "seed"_a);
  m.def("policies", &bench::PolicyNames);
}

}  // namespace gmlake
