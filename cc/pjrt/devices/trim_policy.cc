#include "cc/pjrt/devices/trim_policy.h"

#include <algorithm>

namespace gmlake {

std::optional<Bytes> TrimPolicy::Observe(Time now, const Demand& demand, std::optional<Bytes> free) {
  last_ = now;
  peaks_[next_] = demand.peak;
  next_ = (next_ + 1) % peaks_.size();
  ++observed_;
  if (IsIdle(now, demand)) return Bytes(0);
  const bool is_tight = free.has_value() && *free < reserve_;
  if (!is_tight || observed_ < static_cast<int64_t>(peaks_.size())) return std::nullopt;
  const Bytes target = std::max(RecentPeak(), demand.reserved - (reserve_ - *free));
  return target < demand.reserved ? std::optional<Bytes>(target) : std::nullopt;
}

Bytes TrimPolicy::RecentPeak() const { return *std::max_element(peaks_.begin(), peaks_.end()); }

// Once for each quiet time.
bool TrimPolicy::IsIdle(Time now, const Demand& demand) {
  if (demand.requests != requests_) {
    requests_ = demand.requests;
    quiet_since_ = now;
    trimmed_ = false;
  }
  if (idle_after_.count() == 0 || trimmed_ || now - quiet_since_ < idle_after_) return false;
  trimmed_ = true;
  return true;
}

}  // namespace gmlake
