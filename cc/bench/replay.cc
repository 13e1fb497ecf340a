#include "cc/bench/replay.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "cc/bench/fastest.h"
#include "cc/bench/ownership.h"
#include "cc/bench/policies.h"
#include "cc/bench/session.h"
#include "cc/driver/model_driver.h"

namespace gmlake::bench {
namespace {

// A device that never says no.
constexpr Bytes kUnlimited = GiB(1024);
constexpr double kMinLimitResolution = 0.0005;
constexpr double kUsualBisectionSteps = 10;

DriverCallStats Difference(const DriverCallStats& a, const DriverCallStats& b) {
  DriverCallStats result;
  result.create = a.create - b.create;
  result.map = a.map - b.map;
  result.set_access = a.set_access - b.set_access;
  result.unmap = a.unmap - b.unmap;
  result.release = a.release - b.release;
  result.reserve = a.reserve - b.reserve;
  result.free_address = a.free_address - b.free_address;
  result.record_event = a.record_event - b.record_event;
  result.time_us = a.time_us - b.time_us;
  return result;
}

class NullPolicy final : public Policy {
 public:
  Address Allocate(Bytes, StreamHandle) override { return Address(1); }
  void Free(Address, StreamHandle) override {}
};

// A fresh policy on a fresh device, and a session between them.
class Lab {
 public:
  Lab(const Trace& trace, const ReplayOptions& options, std::optional<Bytes> limit, bool verify = false)
      : driver_(limit.value_or(kUnlimited)),
        ownership_(&driver_),
        policy_(options.make_policy ? options.make_policy(&driver_, limit)
                                    : MakePolicy(options.policy, &driver_, limit)),
        session_(trace, policy_.get(), &driver_, verify ? &ownership_ : nullptr) {}

  ModelDriver& driver() { return driver_; }
  Session& session() { return session_; }

 private:
  ModelDriver driver_;
  Ownership ownership_;
  std::unique_ptr<Policy> policy_;
  Session session_;
};

// The steps of one replay, with the share of work done reported along the way.
class Replayer {
 public:
  Replayer(const Trace& trace, const ReplayOptions& options) : trace_(trace), options_(options) {
    if (options.limit) limit_ = AlignDown(*options.limit, MiB(2));
    result_.trace = trace.name;
    result_.policy = options.policy;
    result_.events = static_cast<int64_t>(trace.events.size());
    result_.duration_us = trace.duration_us;
    result_.peak_live = trace.peak_live;
    result_.limit = limit_;
    const double replays = 1 + options.repeats + (options.find_min_limit ? kUsualBisectionSteps : 0);
    events_expected_ = static_cast<double>(trace.events.size()) * options.passes * replays;
  }

  StatusOr<ReplayResult> Run() {
    Status status = RunPasses();
    if (!status.ok()) return Status(status.code(), trace_.name + ": " + options_.policy + ": " + status.message());
    if (options_.repeats > 0) result_.ns_per_op = MeasureNanosecondsPerOp();
    if (options_.find_min_limit) result_.min_limit = FindMinLimit();
    if (options_.progress) options_.progress(1);
    return std::move(result_);
  }

 private:
  Status RunPasses() {
    Lab lab(trace_, options_, limit_, options_.verify);
    Observe(&lab.session());
    DriverCallStats before;
    for (int pass = 1; pass <= options_.passes; ++pass) {
      Status status = lab.session().RunPass(/*stop_at_failure=*/false);
      if (status.ok() && pass < options_.passes) status = lab.session().FreeAll();
      if (!status.ok()) return status;
      const DriverCallStats now = lab.driver().calls();
      result_.passes.push_back(Difference(now, before));
      before = now;
    }
    result_.total = before;
    result_.failures = lab.session().failures();
    result_.peak_reserved = lab.driver().peak_memory_in_use();
    return CheckMisuse(lab.driver());
  }

  static Status CheckMisuse(const ModelDriver& driver) {
    if (driver.num_misuses() == 0) return OkStatus();
    return Status(StatusCode::kFailedPrecondition, "refused by the driver " + std::to_string(driver.num_misuses()) +
                                                       " times, first: " + driver.first_misuse());
  }

  double MeasureNanosecondsPerOp() {
    Fastest policy, loop;
    for (int i = 0; i < options_.repeats; ++i) {
      Lab lab(trace_, options_, limit_);
      Observe(&lab.session());
      AddRun(&lab.session(), &policy);
      const ModelDriver driver{Bytes(0)};
      NullPolicy null;
      Session session(trace_, &null, &driver, nullptr);
      AddRun(&session, &loop);
    }
    const double num_events = static_cast<double>(trace_.events.size()) * options_.passes;
    return std::max(0.0, static_cast<double>((policy.total() - loop.total()).count()) / num_events);
  }

  void AddRun(Session* session, Fastest* fastest) {
    RunAllPasses(session, /*stop_at_failure=*/false);
    fastest->Add(session->segment_times());
  }

  // Sessions that check nothing cannot fail.
  void RunAllPasses(Session* session, bool stop_at_failure) {
    for (int pass = 1; pass <= options_.passes; ++pass) {
      session->RunPass(stop_at_failure).IgnoreError();
      if (stop_at_failure && session->failures() > 0) return;
      if (pass < options_.passes) session->FreeAll().IgnoreError();
    }
  }

  bool Serves(Bytes limit) {
    Lab lab(trace_, options_, limit);
    Observe(&lab.session());
    RunAllPasses(&lab.session(), /*stop_at_failure=*/true);
    return lab.session().failures() == 0;
  }

  // Bisection between a limit that fails, or is the least conceivable, and one that serves. None where even a device
  // that never says no does not help.
  std::optional<Bytes> FindMinLimit() {
    const Bytes unit = MiB(2);
    const Bytes resolution =
        std::max(unit, AlignDown(Bytes(static_cast<int64_t>(trace_.peak_live.count() * kMinLimitResolution)), unit));
    Bytes low = AlignUp(trace_.peak_live, unit);
    if (Serves(low)) return low;
    Bytes step = std::max(unit, AlignUp(low / 100, unit));
    Bytes high = low + step;
    while (!Serves(high)) {
      low = high;
      step = step * 2;
      high = high + step;
      if (high > kUnlimited) return std::nullopt;
    }
    while (high - low > resolution) {
      const Bytes middle = AlignDown(low + (high - low) / 2, unit);
      (Serves(middle) ? high : low) = middle;
    }
    return high;
  }

  void Observe(Session* session) {
    if (!options_.progress) return;
    session->set_observer([this](size_t num_events) {
      events_done_ += static_cast<double>(num_events);
      options_.progress(std::min(0.99, events_done_ / events_expected_));
    });
  }

  const Trace& trace_;
  const ReplayOptions& options_;
  std::optional<Bytes> limit_;
  double events_expected_ = 1;
  double events_done_ = 0;
  ReplayResult result_;
};

}  // namespace

StatusOr<ReplayResult> Replay(const Trace& trace, const ReplayOptions& options) {
  const auto& names = PolicyNames();
  if (!options.make_policy && std::find(names.begin(), names.end(), options.policy) == names.end()) {
    return Status(StatusCode::kInvalidArgument, "no policy is called " + options.policy);
  }
  if (options.passes < 1) return Status(StatusCode::kInvalidArgument, "at least one pass is needed");
  return Replayer(trace, options).Run();
}

}  // namespace gmlake::bench
