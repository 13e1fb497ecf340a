// Decides when idle memory goes back to the device without a call of the user.
//
// Two reasons. No request came for a while (GMLAKE_IDLE_TRIM): then all idle memory goes. Or other processes fill the
// device: then only memory goes that was not needed in the last seconds. Memory that each step needs again stays mapped
// however full the device is; trimming it would only mean to map it again.
#ifndef GMLAKE_PJRT_DEVICES_TRIM_POLICY_H_
#define GMLAKE_PJRT_DEVICES_TRIM_POLICY_H_

#include <array>
#include <chrono>
#include <optional>

#include "cc/base/bytes.h"
#include "cc/core/allocator.h"

namespace gmlake {

// Model: the demand of the last ten periods of a second, and since when there was none. Threads: one. Pure: it looks at
// what it is given, and answers down to how many bytes the device's idle memory should be trimmed.
class TrimPolicy {
 public:
  using Time = std::chrono::steady_clock::time_point;

  // `idle_after` zero: never for idleness. `reserve`: what the device should have free for others.
  TrimPolicy(std::chrono::milliseconds idle_after, Bytes reserve) : idle_after_(idle_after), reserve_(reserve) {}

  // Is it time to observe?
  bool IsDue(Time now) const { return !last_.has_value() || now - *last_ >= std::chrono::seconds(1); }
  // `free`: of the device, where it is known.
  std::optional<Bytes> Observe(Time now, const Demand& demand, std::optional<Bytes> free);

 private:
  Bytes RecentPeak() const;
  bool IsIdle(Time now, const Demand& demand);

  const std::chrono::milliseconds idle_after_;
  const Bytes reserve_;
  std::optional<Time> last_;
  std::array<Bytes, 10> peaks_{};
  size_t next_ = 0;
  int64_t observed_ = 0;
  int64_t requests_ = -1;
  Time quiet_since_;
  bool trimmed_ = false;  // since the last request
};

}  // namespace gmlake

#endif  // GMLAKE_PJRT_DEVICES_TRIM_POLICY_H_
