#include "cc/emulator/modules/node_work.h"

#include <functional>
#include <utility>

#include "cc/emulator/calls/log.h"
#include "cc/emulator/device/context.h"
#include "cc/emulator/device/copies.h"
#include "cc/emulator/modules/modules.h"

namespace gmlake::emulator {
namespace {

Operation NodeOperation(CUgraphNodeType type, std::function<void()> run) {
  Operation operation;
  operation.what = "graph node";
  operation.type = type;
  operation.run = std::move(run);
  return operation;
}

int DeviceOf(CUcontext context) { return context == nullptr ? CurrentDevice() : context->device; }

CUDA_MEMSET_NODE_PARAMS Older(const CUDA_MEMSET_NODE_PARAMS_v2& params) {
  CUDA_MEMSET_NODE_PARAMS fill{};
  fill.dst = params.dst;
  fill.pitch = params.pitch;
  fill.value = params.value;
  fill.elementSize = params.elementSize;
  fill.width = params.width;
  fill.height = params.height;
  return fill;
}

}  // namespace

Operation KernelNode(const CUDA_KERNEL_NODE_PARAMS& params) {
  return LaunchOperation(params.func, params.kernelParams, DeviceOf(params.ctx));
}

Operation CopyNode(const CUDA_MEMCPY3D& params, CUcontext context) { return CopyOperation(params, DeviceOf(context)); }

Operation FillNode(const CUDA_MEMSET_NODE_PARAMS& params, CUcontext context) {
  return FillOperation(params, DeviceOf(context));
}

Operation HostNode(const CUDA_HOST_NODE_PARAMS& params) {
  return NodeOperation(CU_GRAPH_NODE_TYPE_HOST, [function = params.fn, data = params.userData] { function(data); });
}

Operation EmptyNode() { return NodeOperation(CU_GRAPH_NODE_TYPE_EMPTY, nullptr); }

bool ToOperation(const CUgraphNodeParams& params, Operation* operation) {
  switch (params.type) {
    case CU_GRAPH_NODE_TYPE_KERNEL:
      *operation = LaunchOperation(params.kernel.func, params.kernel.kernelParams, DeviceOf(params.kernel.ctx));
      return true;
    case CU_GRAPH_NODE_TYPE_MEMCPY: *operation = CopyNode(params.memcpy.copyParams, params.memcpy.copyCtx); return true;
    case CU_GRAPH_NODE_TYPE_MEMSET: *operation = FillNode(Older(params.memset), params.memset.ctx); return true;
    case CU_GRAPH_NODE_TYPE_HOST: *operation = HostNode({params.host.fn, params.host.userData}); return true;
    case CU_GRAPH_NODE_TYPE_EMPTY: *operation = EmptyNode(); return true;
    default: Log("graph nodes of type %d are not emulated", static_cast<int>(params.type)); return false;
  }
}

}  // namespace gmlake::emulator
