// Page-locked host memory in chunks, for the bytes of a sleeping device.
//
// Page-locking memory is much slower than copying into it. So several threads make chunks while the first ones are
// being filled, or earlier. Chunks are kept until Clear.
#ifndef GMLAKE_CORE_SLEEP_HOST_STORE_H_
#define GMLAKE_CORE_SLEEP_HOST_STORE_H_

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <thread>
#include <vector>

#include "cc/base/bytes.h"
#include "cc/base/mutex.h"
#include "cc/base/status.h"
#include "cc/driver/host_copier.h"

namespace gmlake {

// Model: a list of chunks that only grows until Clear, made in its order by threads of its own, which end when nothing
// is wanted. Invariant: a chunk that a thread makes stays where it is in memory. Thread rule: one thread at a time
// calls; missing and bytes may be asked by any. Cost: per byte made, a page fault and its registration; nothing for
// what is there already.
class HostStore {
 public:
  explicit HostStore(HostCopier* copier) : copier_(copier) {}
  ~HostStore() { Clear(); }
  HostStore(const HostStore&) = delete;
  HostStore& operator=(const HostStore&) = delete;

  // Makes chunks for `size` bytes in the background; kOutOfMemory: the host does not have that much. Retries chunks
  // that failed before. A chunk that is being made for an earlier Prepare is retried once if it fails, because that
  // failure was not reported to this caller. Does not wait.
  Status Prepare(Bytes size);
  // Sizes of the chunks, those that are still being made included.
  int64_t count() const { return static_cast<int64_t>(chunks_.size()); }
  Bytes SizeOf(int64_t chunk) const { return chunks_[static_cast<size_t>(chunk)].size; }
  // Waits until the chunk is made; its memory, or why there is none.
  StatusOr<char*> Await(int64_t chunk);
  // Frees all memory. Waits for the chunks that are being made, and makes no more.
  void Clear();

  // What is still to be made, or why some of it could not be.
  StatusOr<Bytes> missing();
  // What is made.
  Bytes bytes() const { return Bytes(bytes_.load()); }

 private:
  enum class State { kWanted, kBegun, kMade, kFailed };
  struct Chunk {
    Bytes size;
    State state = State::kWanted;
    int64_t begun_for = 0;  // the request that was the last when it was begun
    char* memory = nullptr;
    Status status;
  };

  bool IsQuiet();
  // Waits for the threads, and forgets what they have not made.
  void Settle();
  void CallOff();
  void Make();
  Status CheckHost(Bytes wanted) const;
  void TryFailedAgain() GMLAKE_REQUIRES(mutex_);
  void Append(Bytes size) GMLAKE_REQUIRES(mutex_);
  void StartThreads() GMLAKE_REQUIRES(mutex_);
  StatusOr<char*> MakeUnlocked(const Chunk& chunk) GMLAKE_REQUIRES(mutex_);
  Chunk* Begin() GMLAKE_REQUIRES(mutex_);
  void End(Chunk* chunk, const StatusOr<char*>& memory) GMLAKE_REQUIRES(mutex_);
  Bytes SizeIn(State state) const GMLAKE_REQUIRES(mutex_);

  HostCopier* copier_;
  Mutex mutex_;
  std::condition_variable_any made_;
  std::deque<Chunk> chunks_;                           // grows and shrinks under the lock, by the calling thread alone
  size_t first_wanted_ GMLAKE_GUARDED_BY(mutex_) = 0;  // no chunk before it is wanted
  int64_t requests_ GMLAKE_GUARDED_BY(mutex_) = 0;     // how often Prepare was asked
  int64_t working_ GMLAKE_GUARDED_BY(mutex_) = 0;      // threads that may still begin a chunk
  std::vector<std::thread> threads_;
  std::atomic<int64_t> bytes_{0};
};

}  // namespace gmlake

#endif  // GMLAKE_CORE_SLEEP_HOST_STORE_H_
