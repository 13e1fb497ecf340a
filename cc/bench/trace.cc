#include "cc/bench/trace.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

namespace gmlake::bench {
namespace {

Status Malformed(const std::string& name, size_t index, const std::string& what) {
  return Status(StatusCode::kInvalidArgument, name + ": event " + std::to_string(index) + ": " + what);
}

// Turns raw events into checked ones, one after the other.
class Builder {
 public:
  Builder(std::string name, size_t num_events) {
    trace_.name = std::move(name);
    trace_.events.reserve(num_events);
  }

  Status Add(const RawEvent& raw) {
    const size_t index = num_seen_++;
    if (raw.op < 0 || raw.op > 2) return Fail(index, "there is no operation " + std::to_string(raw.op));
    if (raw.size < 0) return Fail(index, "negative size " + std::to_string(raw.size));
    if (raw.stream < 0) return Fail(index, "negative stream " + std::to_string(raw.stream));
    now_us_ = std::max(now_us_, raw.time_us);  // clocks of several threads may cross
    if (raw.op == 2) return OkStatus();
    return raw.op == 0 ? Allocate(index, raw) : Free(index, raw);
  }

  Trace Finish() {
    trace_.num_slots = num_slots_;
    if (!trace_.events.empty()) trace_.duration_us = now_us_ - trace_.events.front().time_us;
    return std::move(trace_);
  }

 private:
  struct Id {
    int32_t slot;
    Bytes size;
    bool live = false;
    size_t freed_at = 0;
  };

  Status Fail(size_t index, const std::string& what) { return Malformed(trace_.name, index, what); }

  Status Allocate(size_t index, const RawEvent& raw) {
    const auto [it, is_new] = ids_.try_emplace(raw.id);
    Id& id = it->second;
    if (id.live) return Fail(index, "allocates id " + std::to_string(raw.id) + ", which is still live");
    if (is_new) id.slot = num_slots_++;
    id.size = Bytes(raw.size);
    id.live = true;
    live_ += id.size;
    trace_.peak_live = std::max(trace_.peak_live, live_);
    trace_.largest = std::max(trace_.largest, id.size);
    Push(raw, id);
    return OkStatus();
  }

  Status Free(size_t index, const RawEvent& raw) {
    const auto it = ids_.find(raw.id);
    if (it == ids_.end()) return Fail(index, "frees id " + std::to_string(raw.id) + ", which was never allocated");
    Id& id = it->second;
    if (!id.live) {
      return Fail(index,
                  "frees id " + std::to_string(raw.id) + " again (freed at event " + std::to_string(id.freed_at) + ")");
    }
    id.live = false;
    id.freed_at = index;
    live_ -= id.size;
    Push(raw, id);
    return OkStatus();
  }

  void Push(const RawEvent& raw, const Id& id) {
    if (id.size == Bytes(0)) return;
    trace_.events.push_back({raw.op == 1, static_cast<int32_t>(raw.stream), id.slot, id.size, now_us_});
  }

  Trace trace_;
  std::unordered_map<int64_t, Id> ids_;
  int32_t num_slots_ = 0;
  size_t num_seen_ = 0;
  int64_t now_us_ = INT64_MIN;
  Bytes live_;
};

}  // namespace

StatusOr<Trace> MakeTrace(std::string name, const std::vector<RawEvent>& raw) {
  if (raw.empty()) return Status(StatusCode::kInvalidArgument, name + ": no events");
  Builder builder(std::move(name), raw.size());
  for (const RawEvent& event : raw) {
    GMLAKE_RETURN_IF_ERROR(builder.Add(event));
  }
  return builder.Finish();
}

}  // namespace gmlake::bench
