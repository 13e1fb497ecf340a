#include "cc/report/history_file.h"

#include <unistd.h>

#include "cc/report/json.h"
#include "cc/report/npz_writer.h"
#include "cc/report/program_name.h"

namespace gmlake {
namespace {

// The types of gmlake_jax/history/schema.py; a test compares the two.
constexpr const char* kEvent =
    "[('time_ns', '<i8'), ('address', '<u8'), ('size', '<i8'), ('requested', '<i8'), ('stream', '<u8'), "
    "('range', '<i4'), ('block', '<i4'), ('annotation', '<i4'), ('kind', '|u1'), ('way', '|u1'), ('unused', '<u2')]";
constexpr const char* kRange = "[('id', '<i4'), ('kind', '<i4'), ('address', '<u8'), ('size', '<i8')]";
constexpr const char* kBlock = "[('id', '<i4'), ('quarantined', '<i4'), ('size', '<i8')]";
constexpr const char* kMapping = "[('range', '<i4'), ('block', '<i4'), ('address', '<u8')]";
constexpr const char* kLease =
    "[('address', '<u8'), ('size', '<i8'), ('requested', '<i8'), ('stream', '<u8'), ('time_ns', '<i8'), "
    "('range', '<i4'), ('annotation', '<i4'), ('state', '|u1'), ('way', '|u1'), ('unused', '<u2'), "
    "('unused2', '<i4')]";

template <typename Row>
void AddTable(const std::string& name, const char* dtype, const std::vector<Row>& rows, NpzWriter* writer) {
  writer->Add(name, dtype, rows.data(), sizeof(Row), rows.size());
}

void AddSnapshot(const std::string& prefix, const Snapshot& snapshot, NpzWriter* writer) {
  AddTable(prefix + "ranges", kRange, snapshot.ranges, writer);
  AddTable(prefix + "blocks", kBlock, snapshot.blocks, writer);
  AddTable(prefix + "mappings", kMapping, snapshot.mappings, writer);
  AddTable(prefix + "leases", kLease, snapshot.leases, writer);
}

std::string AboutJson(const HistoryAbout& about, const AllocatorStats& stats, int64_t start_ns) {
  JsonObject object;
  object.AddNumber("device", about.device);
  object.AddText("device_name", about.device_name);
  object.AddText("program", ProgramName());
  object.AddNumber("limit_bytes", stats.bytes_limit.count());
  object.AddNumber("total_bytes", stats.bytes_device_total.count());
  object.AddNumber("pid", getpid());
  object.AddNumber("start_unix_ns", UnixNsOfMonotonicZero() + start_ns);
  return object.Finish();
}

JsonObject SnapshotMeta(const std::string& about, const Snapshot& snapshot, const std::string& labels) {
  JsonObject meta;
  meta.Add("about", about);
  meta.Add("annotations", labels);
  meta.Add("stats", JsonOf(snapshot.stats));
  meta.AddNumber("time_ns", snapshot.time_ns);
  return meta;
}

std::string Meta(const std::string& about, const Snapshot& snapshot, const Recording* recording,
                 const std::string& labels) {
  JsonObject of_snapshot = SnapshotMeta(about, snapshot, labels);
  if (recording == nullptr) {
    of_snapshot.AddText("format", "gmlake-snapshot-1");
    return of_snapshot.Finish();
  }
  JsonObject meta;
  meta.AddText("format", "gmlake-recording-1");
  meta.Add("about", about);
  meta.Add("annotations", labels);
  meta.AddNumber("dropped", recording->dropped);
  meta.Add("end", of_snapshot.Finish());
  return meta.Finish();
}

}  // namespace

void RebaseTimes(int64_t start_ns, Snapshot* snapshot) {
  snapshot->time_ns -= start_ns;
  for (LeaseRow& lease : snapshot->leases) lease.time_ns -= start_ns;
}

std::string EncodeHistory(const HistoryAbout& about, Snapshot snapshot, const Recording* recording,
                          const std::vector<std::string>& labels) {
  const int64_t start_ns = recording != nullptr ? recording->start_ns : snapshot.time_ns;
  RebaseTimes(start_ns, &snapshot);
  const std::string meta = Meta(AboutJson(about, snapshot.stats, start_ns), snapshot, recording, JsonList(labels));
  NpzWriter writer;
  writer.Add("meta", "'|u1'", meta.data(), 1, meta.size());
  if (recording != nullptr) AddTable("events", kEvent, recording->events, &writer);
  AddSnapshot(recording != nullptr ? "end_" : "", snapshot, &writer);
  return writer.Finish();
}

}  // namespace gmlake
