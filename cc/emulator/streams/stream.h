// What stands behind a stream's handle.
#ifndef GMLAKE_EMULATOR_STREAMS_STREAM_H_
#define GMLAKE_EMULATOR_STREAMS_STREAM_H_

#include <atomic>
#include <cstdint>
#include <memory>

#include "cc/emulator/calls/cuda_api.h"
#include "cc/emulator/streams/work_queue.h"

namespace gmlake::emulator {
class Capture;
}  // namespace gmlake::emulator

// Never deleted, so that a handle that is used after its end is noticed.
struct CUstream_st {
  int device;
  unsigned flags;
  int priority;
  uint64_t id;
  std::shared_ptr<gmlake::emulator::WorkQueue> queue;
  std::shared_ptr<gmlake::emulator::Capture> capture;  // null unless the stream is being captured
  std::atomic<bool> is_destroyed{false};
};

namespace gmlake::emulator {

// The default streams have no object: null, CU_STREAM_LEGACY, CU_STREAM_PER_THREAD.
inline bool IsDefaultStream(CUstream stream) {
  return stream == nullptr || stream == CU_STREAM_LEGACY || stream == CU_STREAM_PER_THREAD;
}

}  // namespace gmlake::emulator

#endif  // GMLAKE_EMULATOR_STREAMS_STREAM_H_
