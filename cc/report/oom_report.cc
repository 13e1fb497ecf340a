// The report of a refused request, one screen of text: oom_event.h's Report.
#include <algorithm>
#include <cstdio>
#include <map>
#include <utility>

#include "cc/report/oom_event.h"

namespace gmlake {
namespace {

constexpr size_t kMostRows = 5;
constexpr int64_t kNsPerSecond = 1'000'000'000;

// "  live             404.0 MiB  in 2 buffers"
std::string Line(const char* what, Bytes size, const std::string& remark = "") {
  char line[64];
  std::snprintf(line, sizeof line, "  %-20s%11s", what, ToString(size).c_str());
  return line + (remark.empty() ? "" : "  " + remark) + "\n";
}

std::string Count(int64_t count, const std::string& what) {
  return std::to_string(count) + " " + what + (count == 1 ? "" : "s");
}

Bytes Idle(const AllocatorStats& stats) {
  return std::max(stats.bytes_reserved - stats.bytes_in_use - stats.bytes_pending - stats.bytes_quarantined, Bytes(0));
}

Bytes Growth(const AllocatorStats& stats) {
  const Bytes room = std::max(stats.bytes_limit - stats.bytes_reserved, Bytes(0));
  return stats.bytes_device_total > Bytes(0) ? std::min(room, stats.bytes_device_free) : room;
}

std::string Head(const OomEvent& oom_event) {
  return "[gmlake_jax] out of memory on device " + std::to_string(oom_event.device) +
         (oom_event.device_name.empty() ? "" : " (" + oom_event.device_name + ")") + "\n" +
         Line("asked for", oom_event.asked, oom_event.label.empty() ? "" : "by " + oom_event.label) +
         (oom_event.reason.empty() ? "" : "  refused because " + oom_event.reason + "\n");
}

std::string OptionalLine(const char* what, Bytes size, const std::string& remark) {
  return size == Bytes(0) ? "" : Line(what, size, remark);
}

std::string Pieces(const AllocatorStats& stats) {
  return "in " + Count(stats.num_free_pieces, "piece") + ", the largest " + ToString(stats.largest_free_block) +
         (stats.bytes_small_free == Bytes(0) ? "" : "; " + ToString(stats.bytes_small_free) + " in the small pool");
}

std::string Sizes(const AllocatorStats& stats) {
  return Line("limit", stats.bytes_limit) +
         Line("live", stats.bytes_in_use,
              "in " + Count(stats.num_live, "buffer") + "; at the peak " + ToString(stats.peak_bytes_in_use)) +
         Line("reserved", stats.bytes_reserved, "in " + Count(stats.num_blocks, "physical block")) +
         Line("idle", Idle(stats), Pieces(stats)) +
         OptionalLine("waiting", stats.bytes_pending, "for work that is queued on another stream") +
         OptionalLine("in doubt", stats.bytes_quarantined, "after errors of the driver: not used again") +
         Line("could still grow", Growth(stats)) + Line("most in one piece", stats.largest_servable);
}

std::string Outside(const OomEvent& oom_event) {
  const AllocatorStats& stats = oom_event.snapshot.stats;
  if (stats.bytes_device_total == Bytes(0)) return "";
  std::string text =
      Line("outside gmlake_jax", stats.bytes_outside, "of the device's " + ToString(stats.bytes_device_total));
  for (const DeviceProcess& process : oom_event.processes) {
    const std::string name = process.is_this ? "this process, in all" : process.name;
    text += Line("", process.used, name + " (pid " + std::to_string(process.pid) + ")");
  }
  return text;
}

// Whether stitching was possible, and why it did not help.
std::string Stitching(Bytes asked, const AllocatorStats& stats) {
  const std::string all = ToString(stats.bytes_stitchable) + " can be stitched of what is idle, and " +
                          ToString(Growth(stats)) + " can grow: ";
  if (CauseOf(asked, stats) == Cause::kScattered) {
    return "Stitching: " + all +
           "not enough in one piece. The rest of the idle memory lies inside blocks that are in use.\n";
  }
  const Bytes missing = asked - stats.largest_servable;
  return "Stitching: " + all +
         (missing > Bytes(0) ? ToString(missing) + " short. " : "enough, but the driver refused. ") +
         (CauseOf(asked, stats) == Cause::kLimit ? "This is not fragmentation: it is too much for the limit.\n"
                                                 : "The limit would allow it; the device is full.\n");
}

struct Group {
  std::string label;
  Bytes size;  // of each
  int64_t count = 0;
  int64_t oldest_ns = 0;  // age

  Bytes total() const { return size * count; }
};

std::string LabelOf(const OomEvent& oom_event, const LeaseRow& lease) {
  const size_t number = static_cast<size_t>(lease.annotation);
  return lease.annotation < 0 || number >= oom_event.labels.size() ? "" : oom_event.labels[number];
}

// Leases of one size and one label are one group.
std::vector<Group> LargestGroups(const OomEvent& oom_event) {
  std::map<std::pair<std::string, int64_t>, Group> groups;
  for (const LeaseRow& lease : oom_event.snapshot.leases) {
    const std::string label = LabelOf(oom_event, lease);
    Group& group = groups.try_emplace({label, lease.size}, Group{label, Bytes(lease.size)}).first->second;
    ++group.count;
    group.oldest_ns = std::max(group.oldest_ns, oom_event.snapshot.time_ns - lease.time_ns);
  }
  std::vector<Group> sorted;
  for (const auto& [key, group] : groups) sorted.push_back(group);
  std::sort(sorted.begin(), sorted.end(), [](const Group& a, const Group& b) { return b.total() < a.total(); });
  if (sorted.size() > kMostRows) sorted.resize(kMostRows);
  return sorted;
}

std::string LargestBuffers(const OomEvent& oom_event) {
  std::string text = "Largest live buffers:\n";
  for (const Group& group : LargestGroups(oom_event)) {
    const std::string each = std::to_string(group.count) + " x " + ToString(group.size);
    const std::string age = std::to_string(group.oldest_ns / kNsPerSecond) + " s old";
    text += Line(each.c_str(), group.total(), age + (group.label.empty() ? "" : ", " + group.label));
  }
  return text;
}

std::string ByAnnotation(const OomEvent& oom_event) {
  std::map<std::string, std::pair<Bytes, int64_t>> sums;
  for (const LeaseRow& lease : oom_event.snapshot.leases) {
    auto& [bytes, count] = sums[LabelOf(oom_event, lease)];
    bytes += Bytes(lease.size);
    ++count;
  }
  if (sums.size() < 2 && sums.count("") == sums.size()) return "";
  std::vector<std::pair<std::string, std::pair<Bytes, int64_t>>> sorted(sums.begin(), sums.end());
  std::sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) { return b.second.first < a.second.first; });
  std::string text = "Live by annotation:\n";
  for (size_t i = 0; i < std::min(sorted.size(), kMostRows); ++i) {
    const auto& [label, sum] = sorted[i];
    text += Line(Count(sum.second, "buffer").c_str(), sum.first, label.empty() ? "(none)" : label);
  }
  return text;
}

std::string Advice(const OomEvent& oom_event) {
  const AllocatorStats& stats = oom_event.snapshot.stats;
  const Cause cause = CauseOf(oom_event.asked, stats);
  std::string text = "What to try:\n";
  if (stats.bytes_pending > Bytes(0)) text += "  - wait for queued work (block_until_ready) before this request\n";
  if (cause == Cause::kScattered) text += "  - gmlake_jax.empty_cache(), then the same again\n";
  if (cause == Cause::kDevice) text += "  - end what else uses the device, or wait for it\n";
  if (cause == Cause::kLimit && stats.bytes_limit + stats.bytes_outside < stats.bytes_device_total) {
    const Bytes most = stats.bytes_device_total - stats.bytes_outside;
    text += "  - a higher limit: GMLAKE_LIMIT, gmlake_jax.set_memory_limit(); the device would allow " +
            ToString(most) + "\n";
  }
  text += "  - jit with donate_argnums, jax.checkpoint, a smaller batch; delete arrays that are no longer needed\n";
  if (oom_event.saved.empty()) text += "  - GMLAKE_OOM_DIR=folder keeps a snapshot of such a moment\n";
  return text;
}

std::string Tail(const OomEvent& oom_event) {
  std::string text;
  if (oom_event.earlier > 0) {
    text +=
        Count(oom_event.earlier, "earlier request") + " that did not fit had no consequence: XLA found another way.\n";
  }
  if (!oom_event.saved.empty()) text += "Saved: " + oom_event.saved + "\n";
  return text;
}

}  // namespace

std::string Report(const OomEvent& oom_event) {
  const AllocatorStats& stats = oom_event.snapshot.stats;
  return Head(oom_event) + Sizes(stats) + Outside(oom_event) + Stitching(oom_event.asked, stats) +
         LargestBuffers(oom_event) + ByAnnotation(oom_event) + Advice(oom_event) + Tail(oom_event);
}

}  // namespace gmlake
