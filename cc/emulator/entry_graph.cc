// Driver entry points: graphs.
#include <algorithm>
#include <atomic>

#include "cc/emulator/calls.h"
#include "cc/emulator/context.h"
#include "cc/emulator/copies.h"
#include "cc/emulator/cuda_api.h"
#include "cc/emulator/graphs.h"
#include "cc/emulator/log.h"
#include "cc/emulator/modules.h"
#include "cc/emulator/streams.h"

namespace gmlake::emulator {
namespace {

Operation NodeOperation(CUgraphNodeType type, std::function<void()> run) {
  Operation operation;
  operation.what = "graph node";
  operation.type = type;
  operation.run = std::move(run);
  return operation;
}

Operation HostNode(CUhostFn function, void* data) {
  return NodeOperation(CU_GRAPH_NODE_TYPE_HOST, [function, data] { function(data); });
}

int DeviceOf(CUcontext context) { return context == nullptr ? CurrentDevice() : context->device; }

Operation KernelNode(CUfunction function, void** arguments, CUcontext context) {
  return LaunchOperation(function, arguments, DeviceOf(context));
}

Operation FillNode(const CUgraphNodeParams& params) {
  CUDA_MEMSET_NODE_PARAMS fill{};
  fill.dst = params.memset.dst;
  fill.pitch = params.memset.pitch;
  fill.value = params.memset.value;
  fill.elementSize = params.memset.elementSize;
  fill.width = params.memset.width;
  fill.height = params.memset.height;
  return FillOperation(fill, DeviceOf(params.memset.ctx));
}

// False if nodes of that kind are not emulated.
bool ToOperation(CUgraph graph, CUgraphNodeParams* params, Operation* operation) {
  switch (params->type) {
    case CU_GRAPH_NODE_TYPE_KERNEL:
      *operation = KernelNode(params->kernel.func, params->kernel.kernelParams, params->kernel.ctx);
      return true;
    case CU_GRAPH_NODE_TYPE_MEMCPY:
      *operation = CopyOperation(params->memcpy.copyParams, DeviceOf(params->memcpy.copyCtx));
      return true;
    case CU_GRAPH_NODE_TYPE_MEMSET: *operation = FillNode(*params); return true;
    case CU_GRAPH_NODE_TYPE_HOST: *operation = HostNode(params->host.fn, params->host.userData); return true;
    case CU_GRAPH_NODE_TYPE_GRAPH: *operation = OperationOfGraph(params->graph.graph); return true;
    case CU_GRAPH_NODE_TYPE_CONDITIONAL:
      if (graph == nullptr) return false;
      params->conditional.phGraph_out = AddBodies(graph, params->conditional.size);
      *operation = NodeOperation(params->type, nullptr);
      return true;
    case CU_GRAPH_NODE_TYPE_EMPTY: *operation = NodeOperation(params->type, nullptr); return true;
    default: Log("graph nodes of type %d are not emulated", static_cast<int>(params->type)); return false;
  }
}

CUresult Add(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies, size_t count, Operation operation) {
  CUgraphNode added = AddNode(graph, dependencies, count, std::move(operation));
  if (node != nullptr) *node = added;
  return CUDA_SUCCESS;
}

CUresult ReplaceNode(CUgraphExec executable, CUgraphNode node, Operation operation) {
  return Replace(executable, node, std::move(operation)) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult NewExecutable(CUgraphExec* executable, CUgraph graph) {
  *executable = new CUgraphExec_st;
  Instantiate(graph, *executable);
  return CUDA_SUCCESS;
}

}  // namespace
}  // namespace gmlake::emulator

using namespace gmlake::emulator;  // NOLINT: entry points are in the global namespace

CUresult CUDAAPI cuGraphCreate(CUgraph* graph, unsigned) {
  GMLAKE_ENTRY();
  *graph = new CUgraph_st;
  return CUDA_SUCCESS;
}

CUresult CUDAAPI cuGraphDestroy(CUgraph graph) {
  GMLAKE_ENTRY();
  delete graph;
  return CUDA_SUCCESS;
}

CUresult CUDAAPI cuGraphAddNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies,
                                const CUgraphEdgeData*, size_t count, CUgraphNodeParams* params) {
  GMLAKE_ENTRY();
  Operation operation;
  if (!ToOperation(graph, params, &operation)) return CUDA_ERROR_NOT_SUPPORTED;
  return Add(node, graph, dependencies, count, std::move(operation));
}

CUresult CUDAAPI cuGraphAddKernelNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies, size_t count,
                                      const CUDA_KERNEL_NODE_PARAMS* params) {
  GMLAKE_ENTRY();
  return Add(node, graph, dependencies, count, KernelNode(params->func, params->kernelParams, params->ctx));
}

CUresult CUDAAPI cuGraphAddMemcpyNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies, size_t count,
                                      const CUDA_MEMCPY3D* params, CUcontext context) {
  GMLAKE_ENTRY();
  return Add(node, graph, dependencies, count, CopyOperation(*params, DeviceOf(context)));
}

CUresult CUDAAPI cuGraphAddMemsetNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies, size_t count,
                                      const CUDA_MEMSET_NODE_PARAMS* params, CUcontext context) {
  GMLAKE_ENTRY();
  return Add(node, graph, dependencies, count, FillOperation(*params, DeviceOf(context)));
}

CUresult CUDAAPI cuGraphAddHostNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies, size_t count,
                                    const CUDA_HOST_NODE_PARAMS* params) {
  GMLAKE_ENTRY();
  return Add(node, graph, dependencies, count, HostNode(params->fn, params->userData));
}

CUresult CUDAAPI cuGraphAddEmptyNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies, size_t count) {
  GMLAKE_ENTRY();
  return Add(node, graph, dependencies, count, NodeOperation(CU_GRAPH_NODE_TYPE_EMPTY, nullptr));
}

CUresult CUDAAPI cuGraphAddChildGraphNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies,
                                          size_t count, CUgraph child) {
  GMLAKE_ENTRY();
  return Add(node, graph, dependencies, count, OperationOfGraph(child));
}

CUresult CUDAAPI cuGraphConditionalHandleCreate(CUgraphConditionalHandle* handle, CUgraph, CUcontext, unsigned,
                                                unsigned) {
  GMLAKE_ENTRY();
  static std::atomic<CUgraphConditionalHandle> next{1};
  *handle = next++;
  return CUDA_SUCCESS;
}

CUresult CUDAAPI cuGraphGetNodes(CUgraph graph, CUgraphNode* nodes, size_t* count) {
  GMLAKE_ENTRY();
  for (size_t i = 0; nodes != nullptr && i < std::min(*count, graph->nodes.size()); ++i) {
    nodes[i] = graph->nodes[i].get();
  }
  *count = graph->nodes.size();
  return CUDA_SUCCESS;
}

CUresult CUDAAPI cuGraphNodeGetType(CUgraphNode node, CUgraphNodeType* type) {
  GMLAKE_ENTRY();
  *type = node->operation.type;
  return CUDA_SUCCESS;
}

CUresult CUDAAPI cuGraphNodeGetDependencies(CUgraphNode node, CUgraphNode* dependencies, CUgraphEdgeData* edges,
                                            size_t* count) {
  GMLAKE_ENTRY();
  for (size_t i = 0; dependencies != nullptr && i < std::min(*count, node->dependencies.size()); ++i) {
    dependencies[i] = node->dependencies[i];
    if (edges != nullptr) edges[i] = {};
  }
  *count = node->dependencies.size();
  return CUDA_SUCCESS;
}

CUresult CUDAAPI cuGraphKernelNodeSetAttribute(CUgraphNode, CUkernelNodeAttrID, const CUkernelNodeAttrValue*) {
  GMLAKE_ENTRY();
  return CUDA_SUCCESS;
}

CUresult CUDAAPI cuGraphDebugDotPrint(CUgraph, const char*, unsigned) {
  GMLAKE_ENTRY();
  return CUDA_SUCCESS;
}

CUresult CUDAAPI cuGraphInstantiateWithFlags(CUgraphExec* executable, CUgraph graph, unsigned long long) {
  GMLAKE_ENTRY();
  return NewExecutable(executable, graph);
}

CUresult CUDAAPI cuGraphInstantiateWithParams(CUgraphExec* executable, CUgraph graph,
                                              CUDA_GRAPH_INSTANTIATE_PARAMS* params) {
  GMLAKE_ENTRY();
  params->result_out = CUDA_GRAPH_INSTANTIATE_SUCCESS;
  return NewExecutable(executable, graph);
}

CUresult CUDAAPI cuGraphExecDestroy(CUgraphExec executable) {
  GMLAKE_ENTRY();
  delete executable;
  return CUDA_SUCCESS;
}

CUresult CUDAAPI cuGraphExecGetFlags(CUgraphExec, cuuint64_t* flags) {
  GMLAKE_ENTRY();
  *flags = 0;
  return CUDA_SUCCESS;
}

CUresult CUDAAPI cuGraphUpload(CUgraphExec, CUstream) {
  GMLAKE_ENTRY();
  return CUDA_SUCCESS;
}

CUresult CUDAAPI cuGraphLaunch(CUgraphExec executable, CUstream stream) {
  GMLAKE_ENTRY();
  Operation launch = NodeOperation(CU_GRAPH_NODE_TYPE_GRAPH, nullptr);
  launch.what = "graph launch";
  launch.children = executable->operations;
  return Submit(stream, std::move(launch));
}

CUresult CUDAAPI cuGraphExecNodeSetParams(CUgraphExec executable, CUgraphNode node, CUgraphNodeParams* params) {
  GMLAKE_ENTRY();
  Operation operation;
  if (!ToOperation(nullptr, params, &operation)) return CUDA_ERROR_NOT_SUPPORTED;
  return ReplaceNode(executable, node, std::move(operation));
}

CUresult CUDAAPI cuGraphExecKernelNodeSetParams(CUgraphExec executable, CUgraphNode node,
                                                const CUDA_KERNEL_NODE_PARAMS* params) {
  GMLAKE_ENTRY();
  return ReplaceNode(executable, node, KernelNode(params->func, params->kernelParams, params->ctx));
}

CUresult CUDAAPI cuGraphExecMemcpyNodeSetParams(CUgraphExec executable, CUgraphNode node, const CUDA_MEMCPY3D* params,
                                                CUcontext context) {
  GMLAKE_ENTRY();
  return ReplaceNode(executable, node, CopyOperation(*params, DeviceOf(context)));
}

CUresult CUDAAPI cuGraphExecMemsetNodeSetParams(CUgraphExec executable, CUgraphNode node,
                                                const CUDA_MEMSET_NODE_PARAMS* params, CUcontext context) {
  GMLAKE_ENTRY();
  return ReplaceNode(executable, node, FillOperation(*params, DeviceOf(context)));
}

CUresult CUDAAPI cuGraphExecChildGraphNodeSetParams(CUgraphExec executable, CUgraphNode node, CUgraph child) {
  GMLAKE_ENTRY();
  return ReplaceNode(executable, node, OperationOfGraph(child));
}

CUresult CUDAAPI cuGraphExecUpdate(CUgraphExec executable, CUgraph graph, CUgraphExecUpdateResultInfo* result) {
  GMLAKE_ENTRY();
  Instantiate(graph, executable);
  if (result != nullptr) result->result = CU_GRAPH_EXEC_UPDATE_SUCCESS;
  return CUDA_SUCCESS;
}
