// Page-locked host memory in chunks, for the bytes of a sleeping device.
//
// Making it is much slower than copying into it, so several threads make chunks while the first ones are being filled,
// and what is made is kept for the next time until somebody asks for it back.
#ifndef GMLAKE_CORE_HOST_STORE_H_
#define GMLAKE_CORE_HOST_STORE_H_

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

#include "cc/base/bytes.h"
#include "cc/base/status.h"
#include "cc/driver/host_copier.h"

namespace gmlake {

// Model: a list of chunks that only grows until Clear. Thread rule: one thread calls; its own threads only make chunks.
// Cost: per byte made, a page fault and its registration; nothing for what is there already.
class HostStore {
 public:
  explicit HostStore(HostCopier* copier) : copier_(copier) {}
  ~HostStore() { Clear(); }
  HostStore(const HostStore&) = delete;
  HostStore& operator=(const HostStore&) = delete;

  // From here on there are chunks for `size` bytes, or will be soon; kOutOfMemory if the host has not so much.
  Status Prepare(Bytes size);
  // Sizes of the chunks, those that are still being made included.
  int64_t count() const { return static_cast<int64_t>(chunks_.size()); }
  Bytes SizeOf(int64_t chunk) const { return chunks_[chunk].size; }
  // Waits until the chunk is made; its memory, or why there is none.
  StatusOr<char*> Await(int64_t chunk);
  // Waits for all of them, and forgets those that could not be made.
  void Settle();
  // Gives everything back to the host.
  void Clear();

  // Asked by other threads too.
  Bytes bytes() const { return Bytes(bytes_.load()); }

 private:
  struct Chunk {
    Bytes size;
    char* memory = nullptr;
    bool done = false;  // made, or failed with `status`
    Status status;
  };

  void StartThreads(int64_t missing);
  void Make();
  void CountBytes();
  // The next chunk that nobody has begun, or -1.
  int64_t Claim();

  HostCopier* copier_;
  std::mutex mutex_;  // for what the threads share: chunks_' contents and next_
  std::condition_variable made_;
  std::vector<Chunk> chunks_;
  int64_t next_ = 0;
  std::vector<std::thread> threads_;
  std::atomic<int64_t> bytes_{0};
};

}  // namespace gmlake

#endif  // GMLAKE_CORE_HOST_STORE_H_
