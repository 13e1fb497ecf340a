// A stream's work, in order. In asynchronous mode a thread runs it; otherwise it runs as it is pushed.
#ifndef GMLAKE_EMULATOR_WORK_QUEUE_H_
#define GMLAKE_EMULATOR_WORK_QUEUE_H_

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <string>

#include "cc/emulator/operation.h"

namespace gmlake::emulator {

// Thread rule: any thread. The thread that runs the work keeps the queue alive, so a stream may be destroyed while
// work is left, as in CUDA.
class WorkQueue : public std::enable_shared_from_this<WorkQueue> {
 public:
  // Must be called once, after construction, in a shared_ptr.
  void Start();
  void Push(Operation operation);
  // Waits for what was pushed before the call.
  void Drain();
  bool IsIdle();
  // No more work comes; the thread ends once the rest has run.
  void Close();
  // The name of queued or running work that touches the range; empty if there is none.
  std::string FindPending(uint64_t begin, size_t size);

 private:
  void Run();
  std::shared_ptr<const Operation> WaitForWork();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::shared_ptr<const Operation>> work_;  // the front one may be running
  uint64_t pushed_ = 0, completed_ = 0;
  bool is_closed_ = false;
};

}  // namespace gmlake::emulator

#endif  // GMLAKE_EMULATOR_WORK_QUEUE_H_
