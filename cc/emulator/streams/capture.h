// Stream capture: work that becomes a graph instead of running, and the calls that CUDA forbids meanwhile.
//
// Which calls are forbidden in which mode was asked of an H200 (conformance/h200_answers.txt). A forbidden call is a
// violation, fails, and invalidates the capture: only its end is allowed then, and it fails too.
#ifndef GMLAKE_EMULATOR_STREAMS_CAPTURE_H_
#define GMLAKE_EMULATOR_STREAMS_CAPTURE_H_

#include <memory>
#include <thread>
#include <vector>

#include "cc/emulator/calls/calls.h"
#include "cc/emulator/calls/cuda_api.h"
#include "cc/emulator/device/operation.h"

namespace gmlake::emulator {

// One capture under way. A stream that waits for an event recorded inside joins it. Thread rule: the streams of one
// capture are used by one thread at a time, as in CUDA.
class Capture {
 public:
  // Into `graph`, or into a new one if that is null.
  Capture(CUstream origin, CUgraph graph, CUstreamCaptureMode mode);
  ~Capture();

  void Record(Operation operation);
  void Join(CUstream stream);
  // Whether it forbids unsafe calls to the calling thread, which itself runs in mode `own`.
  bool ForbidsUnsafeCalls(CUstreamCaptureMode own) const;
  void Invalidate() { is_valid_ = false; }
  bool is_valid() const { return is_valid_; }
  CUstream origin() const { return streams_.front(); }
  // Every stream leaves the capture. The graph is the caller's from now on; null if the capture was invalidated.
  CUgraph End();

 private:
  std::unique_ptr<CUgraph_st> owned_graph_;  // null for a graph that was given
  CUgraph graph_;
  CUstreamCaptureMode mode_;
  std::thread::id thread_ = std::this_thread::get_id();
  bool is_valid_ = true;
  std::vector<CUstream> streams_;  // the first is the origin
};

// Starts a capture of `stream` into `graph`, or into a new graph if that is null.
CUresult BeginCapture(CUstream stream, CUgraph graph, CUstreamCaptureMode mode);
CUresult EndCapture(CUstream stream, CUgraph* graph);

// Sets the calling thread's mode, which says what captures may forbid it, and returns the one before.
CUstreamCaptureMode ExchangeThreadMode(CUstreamCaptureMode mode);

// CUDA_SUCCESS if the calling thread may now make a call that is unsafe during a capture.
CUresult CheckOutsideCapture(const char* call);
// CUDA_SUCCESS unless this very stream is being captured.
CUresult CheckNotCaptured(CUstream stream, const char* call);
// CUDA_SUCCESS unless any stream of the calling thread's reach is being captured, in whatever mode.
CUresult CheckNothingCaptured(const char* call);

}  // namespace gmlake::emulator

#define GMLAKE_ENTRY_OUTSIDE_CAPTURE()                                                                       \
  GMLAKE_ENTRY();                                                                                            \
  if (const CUresult captured = ::gmlake::emulator::CheckOutsideCapture(__func__); captured != CUDA_SUCCESS) \
  return captured

#endif  // GMLAKE_EMULATOR_STREAMS_CAPTURE_H_
