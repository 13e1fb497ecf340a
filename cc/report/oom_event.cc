#include "cc/report/oom_event.h"

#include <algorithm>

namespace gmlake {
namespace {

Bytes Idle(const AllocatorStats& stats) {
  const Bytes idle = stats.bytes_reserved - stats.bytes_in_use - stats.bytes_pending - stats.bytes_quarantined;
  return idle < Bytes(0) ? Bytes(0) : idle;
}

std::string Unless0(Bytes size, const std::string& what) {
  return size == Bytes(0) ? "" : ", " + ToString(size) + " " + what;
}

std::string Verdict(Bytes asked, const AllocatorStats& stats) {
  switch (CauseOf(asked, stats)) {
    case Cause::kLimit: return "Over the limit by " + ToString(stats.bytes_in_use + asked - stats.bytes_limit) + ".";
    case Cause::kDevice:
      return "The limit would allow it; the device has no more memory to give, so something outside gmlake_jax holds "
             "it.";
    case Cause::kScattered:
      return "Enough is free, but only " + ToString(stats.bytes_stitchable) + " of it can be made one piece.";
  }
  return "";
}

// That the limit is in the way is said already.
std::string Reason(const OomEvent& oom_event) {
  if (oom_event.reason.empty() || CauseOf(oom_event.asked, oom_event.snapshot.stats) == Cause::kLimit) return "";
  return " The allocator says: " + oom_event.reason + ".";
}

}  // namespace

Cause CauseOf(Bytes asked, const AllocatorStats& stats) {
  if (stats.bytes_in_use + asked > stats.bytes_limit) return Cause::kLimit;
  const bool device_known = stats.bytes_device_total > Bytes(0);
  const Bytes room = stats.bytes_limit - stats.bytes_reserved;
  const Bytes growth = device_known ? std::min(room, stats.bytes_device_free) : Bytes(0);
  // What should have fitted was refused by the driver, whatever it says of its memory.
  const bool scattered = device_known && Idle(stats) + growth >= asked && stats.largest_servable < asked;
  return scattered ? Cause::kScattered : Cause::kDevice;
}

std::string DescribeOomEvent(const OomEvent& oom_event) {
  const Bytes asked = oom_event.asked;
  const AllocatorStats& stats = oom_event.snapshot.stats;
  return "[gmlake_jax] device " + std::to_string(oom_event.device) + ": asked for " + ToString(asked) +
         "; of a limit of " + ToString(stats.bytes_limit) + ", " + ToString(stats.bytes_in_use) + " are in use by " +
         std::to_string(stats.num_live) + " buffers, " + ToString(Idle(stats)) + " idle (largest piece " +
         ToString(stats.largest_free_block) + ")" + Unless0(stats.bytes_pending, "waiting for a stream") +
         Unless0(stats.bytes_quarantined, "lost to driver errors") + "; the largest request that fits is " +
         ToString(stats.largest_servable) + ". " + Verdict(asked, stats) + Reason(oom_event);
}

}  // namespace gmlake
