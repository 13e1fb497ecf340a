// Buffers whose address another library holds (dlpack). They cannot be put to sleep: that library would not know.
#ifndef GMLAKE_PJRT_GATES_SHARED_BUFFERS_H_
#define GMLAKE_PJRT_GATES_SHARED_BUFFERS_H_

#include <map>
#include <vector>

#include "cc/base/mutex.h"
#include "xla/pjrt/c/pjrt_c_api.h"

namespace gmlake {

// Model: how many outside references each buffer has, as the host framework counts them. A buffer with one is alive.
// Threads: any.
class SharedBuffers {
 public:
  void Add(PJRT_Buffer* buffer) {
    const MutexLock lock(&mutex_);
    ++references_[buffer];
  }
  void Drop(PJRT_Buffer* buffer) {
    const MutexLock lock(&mutex_);
    const auto found = references_.find(buffer);
    if (found != references_.end() && --found->second == 0) references_.erase(found);
  }
  std::vector<PJRT_Buffer*> All() const {
    const MutexLock lock(&mutex_);
    std::vector<PJRT_Buffer*> all;
    for (const auto& [buffer, count] : references_) all.push_back(buffer);
    return all;
  }

 private:
  mutable Mutex mutex_;
  std::map<PJRT_Buffer*, int> references_ GMLAKE_GUARDED_BY(mutex_);
};

}  // namespace gmlake

#endif  // GMLAKE_PJRT_GATES_SHARED_BUFFERS_H_
