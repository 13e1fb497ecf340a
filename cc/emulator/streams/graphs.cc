#include "cc/emulator/streams/graphs.h"

#include <algorithm>
#include <utility>

namespace gmlake::emulator {
namespace {

using Operations = std::shared_ptr<const std::vector<Operation>>;
using Path = CUgraphExec_st::Path;

Operation NodeWithGraphs(CUgraphNodeType type) {
  Operation operation;
  operation.what = "graph";
  operation.type = type;
  operation.children = std::make_shared<const std::vector<Operation>>();
  operation.enabled = type != CU_GRAPH_NODE_TYPE_CONDITIONAL;
  return operation;
}

void Hold(CUgraphNode node, std::unique_ptr<CUgraph_st> graph) {
  graph->owner = node;
  node->inner_list.push_back(graph.get());
  node->inner.push_back(std::move(graph));
}

// Several bodies stand one behind the other.
Operation OperationOf(const CUgraphNode_st& node) {
  Operation operation = node.operation;
  if (node.inner.empty()) return operation;
  std::vector<Operation> children;
  for (const auto& inner : node.inner) {
    std::vector<Operation> more = OperationsOf(*inner);
    std::move(more.begin(), more.end(), std::back_inserter(children));
  }
  operation.children = std::make_shared<const std::vector<Operation>>(std::move(children));
  return operation;
}

void AddPaths(const CUgraph_st& graph, Path* path, CUgraphExec_st* executable);

void AddPathsInside(const CUgraphNode_st& node, Path* path, CUgraphExec_st* executable) {
  path->push_back(0);
  for (const auto& inner : node.inner) AddPaths(*inner, path, executable);
  path->pop_back();
}

// The last place of `path` is that of the graph's first node; afterwards, the one behind its last.
void AddPaths(const CUgraph_st& graph, Path* path, CUgraphExec_st* executable) {
  for (const auto& node : graph.nodes) {
    executable->paths[node.get()] = *path;
    AddPathsInside(*node, path, executable);
    ++path->back();
  }
}

void AddAllPaths(const CUgraph_st& graph, CUgraphExec_st* executable) {
  Path path{0};
  AddPaths(graph, &path, executable);
}

// A copy in which one place of the tree is changed; the rest is shared.
template <typename Change>
Operations Changed(const Operations& operations, const Path& path, size_t depth, Change change) {
  auto copy = std::make_shared<std::vector<Operation>>(*operations);
  Operation& at = (*copy)[path[depth]];
  if (depth + 1 == path.size()) {
    change(&at);
  } else {
    at.children = Changed(at.children, path, depth + 1, change);
  }
  return copy;
}

template <typename Change>
void ChangeAt(CUgraphExec executable, CUgraphNode node, Change change) {
  executable->operations = Changed(executable->operations, executable->paths.at(node), 0, change);
}

CUgraphExecUpdateResult Compare(const Operations& before, const Operations& after);

CUgraphExecUpdateResult Compare(const Operation& before, const Operation& after) {
  const bool has_graphs = before.children != nullptr;
  if (before.type != after.type || has_graphs != (after.children != nullptr)) {
    return CU_GRAPH_EXEC_UPDATE_ERROR_NODE_TYPE_CHANGED;
  }
  return has_graphs ? Compare(before.children, after.children) : CU_GRAPH_EXEC_UPDATE_SUCCESS;
}

CUgraphExecUpdateResult Compare(const Operations& before, const Operations& after) {
  if (before->size() != after->size()) return CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED;
  for (size_t i = 0; i < before->size(); ++i) {
    const CUgraphExecUpdateResult same = Compare((*before)[i], (*after)[i]);
    if (same != CU_GRAPH_EXEC_UPDATE_SUCCESS) return same;
  }
  return CU_GRAPH_EXEC_UPDATE_SUCCESS;
}

}  // namespace

CUgraphNode AddNode(CUgraph graph, const CUgraphNode* dependencies, size_t count, Operation operation) {
  auto node = std::make_unique<CUgraphNode_st>();
  node->operation = std::move(operation);
  node->graph = graph;
  node->dependencies.assign(dependencies, dependencies + count);
  graph->nodes.push_back(std::move(node));
  return graph->nodes.back().get();
}

CUgraphNode AddChildGraph(CUgraph graph, const CUgraphNode* dependencies, size_t count, CUgraph child,
                          CUgraphChildGraphNodeOwnership ownership) {
  const bool moves = ownership == CU_GRAPH_CHILD_GRAPH_OWNERSHIP_MOVE;
  if (moves && child->owner != nullptr) return nullptr;
  const CUgraphNode node = AddNode(graph, dependencies, count, NodeWithGraphs(CU_GRAPH_NODE_TYPE_GRAPH));
  Hold(node, moves ? std::unique_ptr<CUgraph_st>(child) : Clone(*child));
  return node;
}

CUgraphNode AddConditional(CUgraph graph, const CUgraphNode* dependencies, size_t dependency_count, unsigned bodies) {
  const CUgraphNode node =
      AddNode(graph, dependencies, dependency_count, NodeWithGraphs(CU_GRAPH_NODE_TYPE_CONDITIONAL));
  for (unsigned i = 0; i < bodies; ++i) Hold(node, std::make_unique<CUgraph_st>());
  return node;
}

std::unique_ptr<CUgraph_st> Clone(const CUgraph_st& graph) {
  auto clone = std::make_unique<CUgraph_st>();
  std::unordered_map<CUgraphNode, CUgraphNode> clones;
  for (const auto& node : graph.nodes) {
    const CUgraphNode copy = AddNode(clone.get(), nullptr, 0, node->operation);
    copy->original = node.get();
    clones[node.get()] = copy;
    for (CUgraphNode dependency : node->dependencies) copy->dependencies.push_back(clones[dependency]);
    for (const auto& inner : node->inner) Hold(copy, Clone(*inner));
  }
  return clone;
}

std::vector<Operation> OperationsOf(const CUgraph_st& graph) {
  std::vector<Operation> operations;
  for (const auto& node : graph.nodes) operations.push_back(OperationOf(*node));
  return operations;
}

void Instantiate(CUgraph graph, CUgraphExec_st* executable) {
  executable->operations = std::make_shared<const std::vector<Operation>>(OperationsOf(*graph));
  executable->paths.clear();
  AddAllPaths(*graph, executable);
}

// A node is known by that of the graph that was instantiated, and by that of the graph which it was updated from.
CUgraphExecUpdateResult Update(CUgraph graph, CUgraphExec_st* executable) {
  const Operations operations = std::make_shared<const std::vector<Operation>>(OperationsOf(*graph));
  const CUgraphExecUpdateResult result = Compare(executable->operations, operations);
  if (result != CU_GRAPH_EXEC_UPDATE_SUCCESS) return result;
  executable->operations = operations;
  AddAllPaths(*graph, executable);
  return result;
}

const Operation* Find(const CUgraphExec_st& executable, CUgraphNode node) {
  const auto found = executable.paths.find(node);
  if (found == executable.paths.end()) return nullptr;
  const std::vector<Operation>* operations = executable.operations.get();
  const Operation* at = nullptr;
  for (size_t place : found->second) {
    at = &(*operations)[place];
    operations = at->children.get();
  }
  return at;
}

bool Replace(CUgraphExec executable, CUgraphNode node, Operation operation) {
  const Operation* const present = Find(*executable, node);
  if (present == nullptr || present->type != operation.type) return false;
  operation.enabled = present->enabled;
  ChangeAt(executable, node, [&](Operation* at) { *at = std::move(operation); });
  return true;
}

bool ReplaceChildGraph(CUgraphExec executable, CUgraphNode node, CUgraph child) {
  const Operation* const present = Find(*executable, node);
  if (present == nullptr || present->type != CU_GRAPH_NODE_TYPE_GRAPH) return false;
  const Operations children = std::make_shared<const std::vector<Operation>>(OperationsOf(*child));
  if (Compare(present->children, children) != CU_GRAPH_EXEC_UPDATE_SUCCESS) return false;
  ChangeAt(executable, node, [&](Operation* at) { at->children = children; });
  return true;
}

bool Enable(CUgraphExec executable, CUgraphNode node, bool enabled) {
  const Operation* const present = Find(*executable, node);
  if (present == nullptr || present->type == CU_GRAPH_NODE_TYPE_CONDITIONAL) return false;
  ChangeAt(executable, node, [&](Operation* at) { at->enabled = enabled; });
  return true;
}

}  // namespace gmlake::emulator
