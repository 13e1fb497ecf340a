#include "cc/bench/recorded_replay.h"

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "cc/bench/policies.h"
#include "cc/core/mapping/counting_driver.h"
#include "cc/driver/model_driver.h"
#include "cc/telemetry/inventory_log.h"
#include "cc/telemetry/recorder.h"

namespace gmlake::bench {
namespace {

using Happening = ::gmlake::Event;

// A device that never says no.
constexpr Bytes kUnlimited = GiB(1024);
constexpr int64_t kMaintenancePeriodUs = 100'000;
// Room for so many events per event of the trace; where that was too little, the replay is done again with more.
constexpr int64_t kFirstRoom = 4;

bool IsRequest(EventKind kind) {
  return kind == EventKind::kAlloc || kind == EventKind::kFree || kind == EventKind::kRefused;
}

// A fresh policy on a fresh device, watched by a recorder. Thread rule: one thread.
class Witness {
 public:
  Witness(const Trace& trace, const std::string& policy, std::optional<Bytes> limit, int64_t room)
      : trace_(trace),
        model_(limit.value_or(kUnlimited)),
        inventory_(&recorder_),
        driver_(&model_, &inventory_),
        policy_(MakePolicy(policy, &driver_, limit)),
        leases_(trace.num_slots) {
    inventory_.StartRecording(room);
  }

  Recording Run() {
    int64_t maintained_us = 0;
    for (const Event& event : trace_.events) {
      if (event.time_us - maintained_us >= kMaintenancePeriodUs) {
        policy_->Maintain();
        maintained_us = event.time_us;
      }
      event.is_free ? Free(event) : Allocate(event);
    }
    Recording recording = recorder_.Read();
    recorder_.Stop();
    if (recording.dropped == 0) SetTimes(&recording.events);
    return recording;
  }

 private:
  static StreamHandle ToStream(int32_t stream) { return {reinterpret_cast<void*>((intptr_t{stream} + 1) * 16)}; }

  void Allocate(const Event& event) {
    const Address address = policy_->Allocate(event.size, ToStream(event.stream));
    leases_[event.slot] = address;
    Tell(address.is_null() ? EventKind::kRefused : EventKind::kAlloc, address, event);
  }

  void Free(const Event& event) {
    Address& address = leases_[event.slot];
    Tell(EventKind::kFree, address, event);
    if (!address.is_null()) policy_->Free(address, ToStream(event.stream));
    address = Address();
  }

  void Tell(EventKind kind, Address address, const Event& event) {
    Happening happening;
    happening.kind = kind;
    happening.address = address.value();
    happening.size = kind == EventKind::kRefused ? 0 : event.size.count();
    happening.requested = event.size.count();
    happening.stream = static_cast<uint64_t>(event.stream);
    happening.range = inventory_.Read().RangeAt(address);
    recorder_.Add(happening, 0);
  }

  // Every event of the trace left exactly one request behind; what the driver was asked for belongs to the request
  // after it. A free of nothing was only there to keep count.
  void SetTimes(std::vector<Happening>* events) const {
    size_t next = 0, kept = 0;
    for (const Happening& happening : *events) {
      const Event& cause = trace_.events[std::min(next, trace_.events.size() - 1)];
      next += IsRequest(happening.kind);
      if (happening.kind == EventKind::kFree && happening.address == 0) continue;
      (*events)[kept] = happening;
      (*events)[kept++].time_ns = (cause.time_us - trace_.events.front().time_us) * 1000;
    }
    events->resize(kept);
  }

  const Trace& trace_;
  ModelDriver model_;
  Recorder recorder_;
  InventoryLog inventory_;
  CountingDriver driver_;
  std::unique_ptr<Policy> policy_;
  std::vector<Address> leases_;  // by slot; null where nothing lives
};

bool IsKnown(const std::string& policy) {
  const auto& names = PolicyNames();
  return std::find(names.begin(), names.end(), policy) != names.end();
}

}  // namespace

StatusOr<Recording> RecordReplay(const Trace& trace, const std::string& policy, std::optional<Bytes> limit) {
  if (!IsKnown(policy)) return Status(StatusCode::kInvalidArgument, "no policy is called " + policy);
  if (limit) limit = AlignDown(*limit, MiB(2));
  int64_t room = kFirstRoom * static_cast<int64_t>(trace.events.size()) + 1000;
  while (true) {
    Recording recording = Witness(trace, policy, limit, room).Run();
    if (recording.dropped == 0) return recording;
    room *= 2;
  }
}

}  // namespace gmlake::bench
