// Events: a recorded point in a stream's work. One that was never recorded reads as complete, as in CUDA.
#ifndef GMLAKE_EMULATOR_STREAMS_EVENTS_H_
#define GMLAKE_EMULATOR_STREAMS_EVENTS_H_

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>

#include "cc/emulator/calls/cuda_api.h"
#include "cc/emulator/device/order.h"

namespace gmlake::emulator {

class Capture;

// One recording of an event; waiters keep it alive when the event is recorded again or destroyed.
class Recording {
 public:
  void Complete();
  void Wait();
  bool IsComplete();
  // What is over once it has completed. Set before it is queued.
  Clock clock;
  // When it completed; only after Wait.
  std::chrono::steady_clock::time_point time() const { return time_; }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool is_complete_ = false;
  std::chrono::steady_clock::time_point time_;
};

}  // namespace gmlake::emulator

struct CUevent_st {
  unsigned flags;
  std::mutex mutex;  // guards what follows
  std::shared_ptr<gmlake::emulator::Recording> recording;
  std::weak_ptr<gmlake::emulator::Capture> capture;  // set if the last recording was captured

  std::shared_ptr<gmlake::emulator::Recording> Last();
  // Null unless the last recording belongs to a capture that is under way.
  std::shared_ptr<gmlake::emulator::Capture> LastCapture();
};

namespace gmlake::emulator {

CUresult RecordEvent(CUevent event, CUstream stream);
CUresult WaitForEvent(CUstream stream, CUevent event);

}  // namespace gmlake::emulator

#endif  // GMLAKE_EMULATOR_STREAMS_EVENTS_H_
