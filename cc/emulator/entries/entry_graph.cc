// Driver entry points: graphs.
#include <algorithm>
#include <atomic>
#include <utility>
#include <vector>

#include "cc/emulator/calls/calls.h"
#include "cc/emulator/calls/cuda_api.h"
#include "cc/emulator/modules/node_work.h"
#include "cc/emulator/streams/graphs.h"
#include "cc/emulator/streams/streams.h"

namespace gmlake::emulator {
namespace {

CUresult Give(CUgraphNode added, CUgraphNode* node) {
  if (added == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (node != nullptr) *node = added;
  return CUDA_SUCCESS;
}

CUresult Add(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies, size_t count, Operation operation) {
  return Give(AddNode(graph, dependencies, count, std::move(operation)), node);
}

// Answers a question for a list: as much as there is room for, and how much there is.
void GiveList(const std::vector<CUgraphNode>& all, CUgraphNode* nodes, size_t* count) {
  for (size_t i = 0; nodes != nullptr && i < std::min(*count, all.size()); ++i) nodes[i] = all[i];
  *count = all.size();
}

// Those that `wanted`.
template <typename Wanted>
std::vector<CUgraphNode> NodesOf(CUgraph graph, Wanted wanted) {
  std::vector<CUgraphNode> nodes;
  for (const auto& node : graph->nodes) {
    if (wanted(*node)) nodes.push_back(node.get());
  }
  return nodes;
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

CUresult CUDAAPI cuGraphClone(CUgraph* clone, CUgraph graph) {
  GMLAKE_ENTRY();
  *clone = Clone(*graph).release();
  return CUDA_SUCCESS;
}

CUresult CUDAAPI cuGraphDestroy(CUgraph graph) {
  GMLAKE_ENTRY();
  if (graph->owner != nullptr) return CUDA_ERROR_INVALID_VALUE;  // it goes with the node that it belongs to
  delete graph;
  return CUDA_SUCCESS;
}

CUresult CUDAAPI cuGraphAddNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies,
                                const CUgraphEdgeData*, size_t count, CUgraphNodeParams* params) {
  GMLAKE_ENTRY();
  if (params->type == CU_GRAPH_NODE_TYPE_GRAPH) {
    return Give(AddChildGraph(graph, dependencies, count, params->graph.graph, params->graph.ownership), node);
  }
  if (params->type == CU_GRAPH_NODE_TYPE_CONDITIONAL) {
    const CUgraphNode added = AddConditional(graph, dependencies, count, params->conditional.size);
    params->conditional.phGraph_out = added->inner_list.data();
    return Give(added, node);
  }
  Operation operation;
  if (!ToOperation(*params, &operation)) return CUDA_ERROR_NOT_SUPPORTED;
  return Add(node, graph, dependencies, count, std::move(operation));
}

CUresult CUDAAPI cuGraphAddKernelNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies, size_t count,
                                      const CUDA_KERNEL_NODE_PARAMS* params) {
  GMLAKE_ENTRY();
  return Add(node, graph, dependencies, count, KernelNode(*params));
}

CUresult CUDAAPI cuGraphAddMemcpyNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies, size_t count,
                                      const CUDA_MEMCPY3D* params, CUcontext context) {
  GMLAKE_ENTRY();
  return Add(node, graph, dependencies, count, CopyNode(*params, context));
}

CUresult CUDAAPI cuGraphAddMemsetNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies, size_t count,
                                      const CUDA_MEMSET_NODE_PARAMS* params, CUcontext context) {
  GMLAKE_ENTRY();
  return Add(node, graph, dependencies, count, FillNode(*params, context));
}

CUresult CUDAAPI cuGraphAddHostNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies, size_t count,
                                    const CUDA_HOST_NODE_PARAMS* params) {
  GMLAKE_ENTRY();
  return Add(node, graph, dependencies, count, HostNode(*params));
}

CUresult CUDAAPI cuGraphAddEmptyNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies, size_t count) {
  GMLAKE_ENTRY();
  return Add(node, graph, dependencies, count, EmptyNode());
}

CUresult CUDAAPI cuGraphAddChildGraphNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies,
                                          size_t count, CUgraph child) {
  GMLAKE_ENTRY();
  return Give(AddChildGraph(graph, dependencies, count, child, CU_GRAPH_CHILD_GRAPH_OWNERSHIP_CLONE), node);
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
  GiveList(NodesOf(graph, [](const CUgraphNode_st&) { return true; }), nodes, count);
  return CUDA_SUCCESS;
}

CUresult CUDAAPI cuGraphGetRootNodes(CUgraph graph, CUgraphNode* nodes, size_t* count) {
  GMLAKE_ENTRY();
  GiveList(NodesOf(graph, [](const CUgraphNode_st& node) { return node.dependencies.empty(); }), nodes, count);
  return CUDA_SUCCESS;
}

CUresult CUDAAPI cuGraphChildGraphNodeGetGraph(CUgraphNode node, CUgraph* graph) {
  GMLAKE_ENTRY();
  if (node->operation.type != CU_GRAPH_NODE_TYPE_GRAPH) return CUDA_ERROR_INVALID_VALUE;
  *graph = node->inner_list.front();
  return CUDA_SUCCESS;
}

CUresult CUDAAPI cuGraphNodeFindInClone(CUgraphNode* node, CUgraphNode original, CUgraph clone) {
  GMLAKE_ENTRY();
  const auto found = NodesOf(clone, [&](const CUgraphNode_st& copy) { return copy.original == original; });
  return Give(found.empty() ? nullptr : found.front(), node);
}

CUresult CUDAAPI cuGraphNodeGetType(CUgraphNode node, CUgraphNodeType* type) {
  GMLAKE_ENTRY();
  *type = node->operation.type;
  return CUDA_SUCCESS;
}

CUresult CUDAAPI cuGraphNodeGetDependencies(CUgraphNode node, CUgraphNode* dependencies, CUgraphEdgeData* edges,
                                            size_t* count) {
  GMLAKE_ENTRY();
  if (edges != nullptr) std::fill_n(edges, std::min(*count, node->dependencies.size()), CUgraphEdgeData{});
  GiveList(node->dependencies, dependencies, count);
  return CUDA_SUCCESS;
}

// Nodes run in the order in which they were added; a dependency against it is not emulated.
CUresult CUDAAPI cuGraphAddDependencies(CUgraph graph, const CUgraphNode* from, const CUgraphNode* to,
                                        const CUgraphEdgeData*, size_t count) {
  GMLAKE_ENTRY();
  const std::vector<CUgraphNode> all = NodesOf(graph, [](const CUgraphNode_st&) { return true; });
  const auto place = [&](CUgraphNode node) { return std::find(all.begin(), all.end(), node); };
  for (size_t i = 0; i < count; ++i) {
    if (place(from[i]) == all.end() || place(to[i]) == all.end()) return CUDA_ERROR_INVALID_VALUE;
    if (place(from[i]) >= place(to[i])) return CUDA_ERROR_NOT_SUPPORTED;
  }
  for (size_t i = 0; i < count; ++i) to[i]->dependencies.push_back(from[i]);
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
  Operation launch;
  launch.type = CU_GRAPH_NODE_TYPE_GRAPH;
  launch.what = "graph launch";
  launch.children = executable->operations;
  return Submit(stream, std::move(launch));
}
