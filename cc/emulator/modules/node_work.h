// What graph nodes do, from the parameters that describe them in CUDA's interface.
#ifndef GMLAKE_EMULATOR_MODULES_NODE_WORK_H_
#define GMLAKE_EMULATOR_MODULES_NODE_WORK_H_

#include "cc/emulator/calls/cuda_api.h"
#include "cc/emulator/device/operation.h"

namespace gmlake::emulator {

// A null context is that of the calling thread.
Operation KernelNode(const CUDA_KERNEL_NODE_PARAMS& params);
Operation CopyNode(const CUDA_MEMCPY3D& params, CUcontext context);
Operation FillNode(const CUDA_MEMSET_NODE_PARAMS& params, CUcontext context);
Operation HostNode(const CUDA_HOST_NODE_PARAMS& params);
Operation EmptyNode();

// False if nodes of that kind are not emulated, or hold graphs.
bool ToOperation(const CUgraphNodeParams& params, Operation* operation);

}  // namespace gmlake::emulator

#endif  // GMLAKE_EMULATOR_MODULES_NODE_WORK_H_
