#include "cc/pjrt/entries/activity.h"

#include <cstdio>
#include <utility>

#include "cc/base/mutex.h"

namespace gmlake {

void Activity::Set(std::string line) {
  const MutexLock lock(&mutex_);
  line_ = std::move(line);
}

void Activity::StepAside(const std::string& reason) {
  const MutexLock lock(&mutex_);
  const std::string line = "not active: " + reason;
  if (line != line_) std::fprintf(stderr, "gmlake_jax: %s; JAX keeps its own allocator\n", reason.c_str());
  line_ = line;
}

std::string Activity::line() const {
  const MutexLock lock(&mutex_);
  return line_;
}

}  // namespace gmlake
