// A stream's work, in order. In asynchronous mode a thread runs it; otherwise it runs as it is pushed.
#ifndef GMLAKE_EMULATOR_STREAMS_WORK_QUEUE_H_
#define GMLAKE_EMULATOR_STREAMS_WORK_QUEUE_H_

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "cc/emulator/device/operation.h"
#include "cc/emulator/device/order.h"

namespace gmlake::emulator {

// Thread rule: any thread. The thread that runs the work keeps the queue alive, so a stream may be destroyed while
// work is left, as in CUDA.
class WorkQueue : public std::enable_shared_from_this<WorkQueue> {
 public:
  WorkQueue();
  // Must be called once, after construction, in a shared_ptr.
  void Start();
  // `places`: PlacesOf(operation). What is known to be over before it.
  Clock Push(Operation operation, std::vector<Place> places);
  // Waits for what was pushed before the call.
  void Drain();
  bool IsIdle();
  // What is over before work that is pushed next elsewhere, if that waits for this queue.
  Clock Now();
  // Work that is pushed from now on comes after this.
  void Follow(const Clock& clock);
  // The name of queued or running work that meets `places` and is not over before `clock`; empty if there is none.
  std::string FindUnordered(const std::vector<Place>& places, const Clock& clock);
  // No more work comes; the thread ends once the rest has run.
  void Close();
  // The name of queued or running work that touches the range; empty if there is none.
  std::string FindPending(uint64_t begin, size_t size);

 private:
  void Run();
  std::shared_ptr<const Operation> WaitForWork();

  struct Work {
    std::shared_ptr<const Operation> operation;
    std::vector<Place> places;
    uint64_t number;
  };

  std::mutex mutex_;
  std::condition_variable changed_;
  const uint64_t id_;
  std::deque<Work> work_;  // the front one may be running
  Clock clock_;            // what its next work comes after, beside its own
  uint64_t pushed_ = 0, completed_ = 0;
  bool is_closed_ = false;
};

}  // namespace gmlake::emulator

#endif  // GMLAKE_EMULATOR_STREAMS_WORK_QUEUE_H_
