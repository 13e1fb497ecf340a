// The calling thread's stack of contexts. A context here is a device's primary context and nothing more.
#ifndef GMLAKE_EMULATOR_DEVICE_CONTEXT_H_
#define GMLAKE_EMULATOR_DEVICE_CONTEXT_H_

#include "cc/emulator/calls/cuda_api.h"

struct CUctx_st {
  int device = 0;
};

namespace gmlake::emulator {

// Null if the thread has none.
CUcontext CurrentContext();
// Device 0 if the thread has no context.
int CurrentDevice();
void SetCurrentContext(CUcontext context);
void PushContext(CUcontext context);
// False if there is none to take.
bool PopContext(CUcontext* context);

}  // namespace gmlake::emulator

#endif  // GMLAKE_EMULATOR_DEVICE_CONTEXT_H_
