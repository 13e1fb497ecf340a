// Driver entry points: changes of the nodes of graphs, and of graphs that are instantiated.
#include <utility>

#include "cc/emulator/calls/calls.h"
#include "cc/emulator/calls/cuda_api.h"
#include "cc/emulator/modules/node_work.h"
#include "cc/emulator/streams/graphs.h"

namespace gmlake::emulator {
namespace {

CUresult ValidIf(bool valid) { return valid ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE; }

CUresult ReplaceNode(CUgraphExec executable, CUgraphNode node, Operation operation) {
  return ValidIf(Replace(executable, node, std::move(operation)));
}

// Of a node in a graph; what is instantiated already stays as it is.
CUresult ReplaceNode(CUgraphNode node, Operation operation) {
  if (node->operation.type != operation.type) return CUDA_ERROR_INVALID_VALUE;
  node->operation = std::move(operation);
  return CUDA_SUCCESS;
}

}  // namespace
}  // namespace gmlake::emulator

using namespace gmlake::emulator;  // NOLINT: entry points are in the global namespace

CUresult CUDAAPI cuGraphNodeSetParams(CUgraphNode node, CUgraphNodeParams* params) {
  GMLAKE_ENTRY();
  Operation operation;
  if (!ToOperation(*params, &operation)) return CUDA_ERROR_NOT_SUPPORTED;
  return ReplaceNode(node, std::move(operation));
}

CUresult CUDAAPI cuGraphKernelNodeSetParams(CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS* params) {
  GMLAKE_ENTRY();
  return ReplaceNode(node, KernelNode(*params));
}

CUresult CUDAAPI cuGraphMemcpyNodeSetParams(CUgraphNode node, const CUDA_MEMCPY3D* params) {
  GMLAKE_ENTRY();
  return ReplaceNode(node, CopyNode(*params, nullptr));
}

CUresult CUDAAPI cuGraphMemsetNodeSetParams(CUgraphNode node, const CUDA_MEMSET_NODE_PARAMS* params) {
  GMLAKE_ENTRY();
  return ReplaceNode(node, FillNode(*params, nullptr));
}

CUresult CUDAAPI cuGraphHostNodeSetParams(CUgraphNode node, const CUDA_HOST_NODE_PARAMS* params) {
  GMLAKE_ENTRY();
  return ReplaceNode(node, HostNode(*params));
}

CUresult CUDAAPI cuGraphExecNodeSetParams(CUgraphExec executable, CUgraphNode node, CUgraphNodeParams* params) {
  GMLAKE_ENTRY();
  if (params->type == CU_GRAPH_NODE_TYPE_GRAPH) {
    return ValidIf(ReplaceChildGraph(executable, node, params->graph.graph));
  }
  Operation operation;
  if (!ToOperation(*params, &operation)) return CUDA_ERROR_NOT_SUPPORTED;
  return ReplaceNode(executable, node, std::move(operation));
}

CUresult CUDAAPI cuGraphExecKernelNodeSetParams(CUgraphExec executable, CUgraphNode node,
                                                const CUDA_KERNEL_NODE_PARAMS* params) {
  GMLAKE_ENTRY();
  return ReplaceNode(executable, node, KernelNode(*params));
}

CUresult CUDAAPI cuGraphExecMemcpyNodeSetParams(CUgraphExec executable, CUgraphNode node, const CUDA_MEMCPY3D* params,
                                                CUcontext context) {
  GMLAKE_ENTRY();
  return ReplaceNode(executable, node, CopyNode(*params, context));
}

CUresult CUDAAPI cuGraphExecMemsetNodeSetParams(CUgraphExec executable, CUgraphNode node,
                                                const CUDA_MEMSET_NODE_PARAMS* params, CUcontext context) {
  GMLAKE_ENTRY();
  return ReplaceNode(executable, node, FillNode(*params, context));
}

CUresult CUDAAPI cuGraphExecHostNodeSetParams(CUgraphExec executable, CUgraphNode node,
                                              const CUDA_HOST_NODE_PARAMS* params) {
  GMLAKE_ENTRY();
  return ReplaceNode(executable, node, HostNode(*params));
}

CUresult CUDAAPI cuGraphExecChildGraphNodeSetParams(CUgraphExec executable, CUgraphNode node, CUgraph child) {
  GMLAKE_ENTRY();
  return ValidIf(ReplaceChildGraph(executable, node, child));
}

CUresult CUDAAPI cuGraphNodeSetEnabled(CUgraphExec executable, CUgraphNode node, unsigned enabled) {
  GMLAKE_ENTRY();
  return ValidIf(Enable(executable, node, enabled != 0));
}

CUresult CUDAAPI cuGraphNodeGetEnabled(CUgraphExec executable, CUgraphNode node, unsigned* enabled) {
  GMLAKE_ENTRY();
  const Operation* const found = Find(*executable, node);
  if (found != nullptr) *enabled = found->enabled ? 1 : 0;
  return ValidIf(found != nullptr);
}

CUresult CUDAAPI cuGraphExecUpdate(CUgraphExec executable, CUgraph graph, CUgraphExecUpdateResultInfo* result) {
  GMLAKE_ENTRY();
  const CUgraphExecUpdateResult updated = Update(graph, executable);
  if (result != nullptr) result->result = updated;
  return updated == CU_GRAPH_EXEC_UPDATE_SUCCESS ? CUDA_SUCCESS : CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE;
}
