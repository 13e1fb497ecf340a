// The state of this process in one true line, which `gmlake_jax.state()` and `gmlake doctor` show.
#ifndef GMLAKE_PJRT_ENTRIES_ACTIVITY_H_
#define GMLAKE_PJRT_ENTRIES_ACTIVITY_H_

#include <string>

#include "cc/base/mutex.h"

namespace gmlake {

// Threads: any.
class Activity {
 public:
  void Set(std::string line);
  // Sets the line and also tells the user, once: JAX runs on without us, and that must not pass unnoticed.
  void StepAside(const std::string& reason);
  std::string line() const;

 private:
  mutable Mutex mutex_;
  std::string line_ GMLAKE_GUARDED_BY(mutex_) = "libgmlake_pjrt.so is loaded and not installed";
};

}  // namespace gmlake

#endif  // GMLAKE_PJRT_ENTRIES_ACTIVITY_H_
