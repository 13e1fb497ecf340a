// What must hold while a driver call of ours runs, whoever's thread we are on: the device's context is current, and a
// graph capture going on elsewhere in the process is not disturbed. Both are restored afterwards.
#ifndef GMLAKE_DRIVER_CUDA_SCOPE_H_
#define GMLAKE_DRIVER_CUDA_SCOPE_H_

#include "cc/driver/cuda_functions.h"

namespace gmlake {

// Makes `context` current unless it is already, which it is on XLA's threads. Cost there: one cuCtxGetCurrent, tens of
// nanoseconds.
class CudaContextScope {
 public:
  CudaContextScope(const CudaFunctions& cuda, CUcontext context) : cuda_(cuda) {
    cuda_.cuCtxGetCurrent(&former_);
    changed_ = former_ != context;
    if (changed_) cuda_.cuCtxSetCurrent(context);
  }
  ~CudaContextScope() {
    if (changed_) cuda_.cuCtxSetCurrent(former_);
  }
  CudaContextScope(const CudaContextScope&) = delete;
  CudaContextScope& operator=(const CudaContextScope&) = delete;

 private:
  const CudaFunctions& cuda_;
  CUcontext former_ = nullptr;
  bool changed_ = false;
};

// While any thread captures a graph in the default mode, CUDA forbids every thread calls such as cuMemMap or
// cuEventQuery, and invalidates the capture. Ours never touch the captured stream, so they are exempt: relaxed mode.
class RelaxedCaptureScope {
 public:
  explicit RelaxedCaptureScope(const CudaFunctions& cuda) : cuda_(cuda) {
    cuda_.cuThreadExchangeStreamCaptureMode(&mode_);
  }
  ~RelaxedCaptureScope() { cuda_.cuThreadExchangeStreamCaptureMode(&mode_); }
  RelaxedCaptureScope(const RelaxedCaptureScope&) = delete;
  RelaxedCaptureScope& operator=(const RelaxedCaptureScope&) = delete;

 private:
  const CudaFunctions& cuda_;
  CUstreamCaptureMode mode_ = CU_STREAM_CAPTURE_MODE_RELAXED;
};

// Both, for calls about memory and events.
class CudaCallScope {
 public:
  CudaCallScope(const CudaFunctions& cuda, CUcontext context) : context_(cuda, context), capture_(cuda) {}

 private:
  CudaContextScope context_;
  RelaxedCaptureScope capture_;
};

}  // namespace gmlake

#endif  // GMLAKE_DRIVER_CUDA_SCOPE_H_
