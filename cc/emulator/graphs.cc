#include "cc/emulator/graphs.h"

namespace gmlake::emulator {

CUgraphNode AddNode(CUgraph graph, const CUgraphNode* dependencies, size_t count, Operation operation) {
  auto node = std::make_unique<CUgraphNode_st>();
  node->operation = std::move(operation);
  node->graph = graph;
  node->dependencies.assign(dependencies, dependencies + count);
  graph->nodes.push_back(std::move(node));
  return graph->nodes.back().get();
}

Operation OperationOfGraph(CUgraph graph) {
  auto children = std::make_shared<std::vector<Operation>>();
  for (const auto& node : graph->nodes) children->push_back(node->operation);
  Operation whole;
  whole.what = "graph";
  whole.type = CU_GRAPH_NODE_TYPE_GRAPH;
  whole.children = std::move(children);
  return whole;
}

void Instantiate(CUgraph graph, CUgraphExec_st* executable) {
  auto operations = std::make_shared<std::vector<Operation>>();
  executable->index.clear();
  for (const auto& node : graph->nodes) {
    executable->index[node.get()] = operations->size();
    operations->push_back(node->operation);
  }
  executable->operations = std::move(operations);
}

bool Replace(CUgraphExec executable, CUgraphNode node, Operation operation) {
  const auto found = executable->index.find(node);
  if (found == executable->index.end()) return false;
  auto changed = std::make_shared<std::vector<Operation>>(*executable->operations);
  (*changed)[found->second] = std::move(operation);
  executable->operations = std::move(changed);
  return true;
}

CUgraph* AddBodies(CUgraph graph, unsigned count) {
  auto list = std::make_unique<std::vector<CUgraph>>();
  for (unsigned i = 0; i < count; ++i) {
    graph->bodies.push_back(std::make_unique<CUgraph_st>());
    list->push_back(graph->bodies.back().get());
  }
  graph->body_lists.push_back(std::move(list));
  return graph->body_lists.back()->data();
}

}  // namespace gmlake::emulator
