// Streams, and work that waits for all of them.
#ifndef GMLAKE_EMULATOR_STREAMS_STREAMS_H_
#define GMLAKE_EMULATOR_STREAMS_STREAMS_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "cc/emulator/calls/cuda_api.h"
#include "cc/emulator/device/operation.h"
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

CUstream CreateStream(int device, unsigned flags, int priority);
CUresult DestroyStream(CUstream stream);
// CUDA_ERROR_INVALID_HANDLE, after a violation, for a stream that was destroyed.
CUresult CheckStream(CUstream stream, const char* use);

// The default streams have no object: null, CU_STREAM_LEGACY, CU_STREAM_PER_THREAD.
bool IsDefaultStream(CUstream stream);
int DeviceOf(CUstream stream);

// Records the operation if the stream is being captured, else queues it. On the default stream it runs at once, after
// what is queued on the device's blocking streams.
CUresult Submit(CUstream stream, Operation operation);
void Drain(CUstream stream);
void DrainDevice(int device);
void DrainAllDevices();

// The name of queued work, on any stream, that touches the range; empty if there is none.
std::string FindPendingWork(uint64_t begin, size_t size);

}  // namespace gmlake::emulator

#endif  // GMLAKE_EMULATOR_STREAMS_STREAMS_H_
