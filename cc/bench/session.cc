#include "cc/bench/session.h"

#include <string>

namespace gmlake::bench {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int64_t kMaintenancePeriodUs = 100'000;

// Streams of a trace are numbers; any two distinct pointers will do. None is null, which is CUDA's default stream.
StreamHandle ToStream(int32_t stream) { return {reinterpret_cast<void*>((intptr_t{stream} + 1) * 16)}; }

std::vector<size_t> SegmentEnds(const std::vector<Event>& events) {
  std::vector<size_t> ends;
  int64_t start_us = events.empty() ? 0 : events.front().time_us;
  for (size_t i = 0; i < events.size(); ++i) {
    if (events[i].time_us - start_us < kMaintenancePeriodUs) continue;
    ends.push_back(i);
    start_us = events[i].time_us;
  }
  ends.push_back(events.size());
  return ends;
}

}  // namespace

Session::Session(const Trace& trace, Policy* policy, const ModelDriver* driver, Ownership* ownership)
    : trace_(trace),
      policy_(policy),
      driver_(driver),
      ownership_(ownership),
      segment_ends_(SegmentEnds(trace.events)),
      leases_(trace.num_slots),
      sizes_(trace.num_slots),
      streams_(trace.num_slots) {}

Status Session::RunPass(bool stop_at_failure) {
  size_t begin = 0;
  for (const size_t end : segment_ends_) {
    if (ownership_ == nullptr) {
      RunSegment(begin, end, stop_at_failure);
    } else if (Status status = RunCheckedSegment(begin, end); !status.ok()) {
      return status;
    }
    if (stop_at_failure && failures_ > 0) return OkStatus();
    policy_->Maintain();
    if (observer_) observer_(end - begin);
    begin = end;
  }
  return OkStatus();
}

void Session::RunSegment(size_t begin, size_t end, bool stop_at_failure) {
  const std::chrono::nanoseconds inside_driver = driver_->time_inside();
  const Clock::time_point start = Clock::now();
  for (size_t i = begin; i < end && !(stop_at_failure && failures_ > 0); ++i) {
    const Event& event = trace_.events[i];
    event.is_free ? Free(event) : Allocate(event);
  }
  times_.push_back(Clock::now() - start - (driver_->time_inside() - inside_driver));
}

inline void Session::Allocate(const Event& event) {
  const Address address = policy_->Allocate(event.size, ToStream(event.stream));
  leases_[event.slot] = address;
  sizes_[event.slot] = event.size;
  streams_[event.slot] = event.stream;
  failures_ += address.is_null();
}

inline void Session::Free(const Event& event) {
  Address& address = leases_[event.slot];
  if (!address.is_null()) policy_->Free(address, ToStream(event.stream));
  address = Address();
}

Status Session::RunCheckedSegment(size_t begin, size_t end) {
  for (size_t i = begin; i < end; ++i) {
    const Event& event = trace_.events[i];
    Status status = event.is_free ? CheckedFree(event) : CheckedAllocate(event);
    if (!status.ok()) return Status(status.code(), "event " + std::to_string(i) + ": " + status.message());
  }
  return OkStatus();
}

Status Session::CheckedAllocate(const Event& event) {
  Allocate(event);
  const Address address = leases_[event.slot];
  return address.is_null() ? OkStatus() : ownership_->Claim(address, event.size);
}

Status Session::CheckedFree(const Event& event) {
  const Address address = leases_[event.slot];
  Status status = address.is_null() ? OkStatus() : ownership_->Return(address, event.size);
  Free(event);
  return status;
}

Status Session::FreeAll() {
  for (int32_t slot = 0; slot < trace_.num_slots; ++slot) {
    if (leases_[slot].is_null()) continue;
    const Event event{true, streams_[slot], slot, sizes_[slot], 0};
    if (ownership_ == nullptr) {
      Free(event);
    } else if (Status status = CheckedFree(event); !status.ok()) {
      return status;
    }
  }
  policy_->Maintain();
  return OkStatus();
}

}  // namespace gmlake::bench
