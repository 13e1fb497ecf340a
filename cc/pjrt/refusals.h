// The last request that was refused for want of memory, kept for the error message that the plugin is about to write.
#ifndef GMLAKE_PJRT_REFUSALS_H_
#define GMLAKE_PJRT_REFUSALS_H_

#include <mutex>
#include <string>

namespace gmlake {

// Threads: any. Cost: nothing until a request is refused.
class Refusals {
 public:
  static Refusals& Instance();

  void Record(std::string line);
  // Empty if no request was refused yet.
  std::string last() const;

 private:
  mutable std::mutex mutex_;
  std::string last_;  // guarded by mutex_
};

}  // namespace gmlake

#endif  // GMLAKE_PJRT_REFUSALS_H_
