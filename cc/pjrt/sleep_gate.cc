#include "cc/pjrt/sleep_gate.h"

#include <thread>

namespace gmlake {

// Calls that come in meanwhile are turned away, so the count falls.
bool SleepGate::Close(int ordinal, std::chrono::milliseconds patience) {
  const auto deadline = std::chrono::steady_clock::now() + patience;
  closed_.fetch_or(Bit(ordinal));
  while (inside_.load() != 0) {
    if (std::chrono::steady_clock::now() >= deadline) {
      Open(ordinal);
      return false;
    }
    std::this_thread::sleep_for(std::chrono::microseconds(100));
  }
  return true;
}

}  // namespace gmlake
