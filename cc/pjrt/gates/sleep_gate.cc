#include "cc/pjrt/gates/sleep_gate.h"

#include <algorithm>
#include <thread>

namespace gmlake {
namespace {

// That a copy is over we hear a moment later than whoever waited for it.
constexpr std::chrono::milliseconds kLeastPatience(20);

Status Busy(const char* what) { return Status(StatusCode::kFailedPrecondition, what); }

}  // namespace

// Calls that come in meanwhile are turned away, so the counts fall.
Status SleepGate::Close(int ordinal, std::chrono::milliseconds patience) {
  const auto deadline = std::chrono::steady_clock::now() + std::max(patience, kLeastPatience);
  closed_.fetch_or(Bit(ordinal));
  for (Status blocked = InTheWay(ordinal); !blocked.ok(); blocked = InTheWay(ordinal)) {
    if (std::chrono::steady_clock::now() >= deadline) {
      Open(ordinal);
      return blocked;
    }
    std::this_thread::sleep_for(std::chrono::microseconds(100));
  }
  return OkStatus();
}

// Calls first: one that is in progress may still add a copy.
Status SleepGate::InTheWay(int ordinal) const {
  if (inside_.load() != 0) return Busy("another thread is using the device; let it finish and try again");
  if (IsKnown(ordinal) && transfers_[ordinal].load() != 0) {
    return Busy("a copy from or to the device is queued; wait for it (jax.block_until_ready) and try again");
  }
  return OkStatus();
}

}  // namespace gmlake
