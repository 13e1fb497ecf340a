#include "cc/pjrt/refusals.h"

#include <utility>

namespace gmlake {

// Never destroyed: a thread of the plugin may be refused memory while the process ends.
Refusals& Refusals::Instance() {
  static Refusals* const instance = new Refusals;
  return *instance;
}

void Refusals::Record(std::string line) {
  const std::lock_guard<std::mutex> lock(mutex_);
  last_ = std::move(line);
}

std::string Refusals::last() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return last_;
}

}  // namespace gmlake
