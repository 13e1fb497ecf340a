// Streams, and work that waits for all of them.
#ifndef GMLAKE_EMULATOR_STREAMS_STREAMS_H_
#define GMLAKE_EMULATOR_STREAMS_STREAMS_H_

#include <cstdint>
#include <string>

#include "cc/emulator/calls/cuda_api.h"
#include "cc/emulator/device/operation.h"
#include "cc/emulator/streams/stream.h"

namespace gmlake::emulator {

CUstream CreateStream(int device, unsigned flags, int priority);
CUresult DestroyStream(CUstream stream);
// CUDA_ERROR_INVALID_HANDLE, after a violation, for a stream that was destroyed.
CUresult CheckStream(CUstream stream, const char* use);

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
