// Graphs: nodes kept in the order in which they were added, which is always an order that keeps their dependencies.
//
// Dependencies themselves are remembered only to be asked for. Conditional nodes never run their bodies: no kernel
// computes their condition here.
#ifndef GMLAKE_EMULATOR_GRAPHS_H_
#define GMLAKE_EMULATOR_GRAPHS_H_

#include <memory>
#include <unordered_map>
#include <vector>

#include "cc/emulator/cuda_api.h"
#include "cc/emulator/operation.h"

struct CUgraphNode_st {
  gmlake::emulator::Operation operation;
  CUgraph graph;
  std::vector<CUgraphNode> dependencies;
};

struct CUgraph_st {
  std::vector<std::unique_ptr<CUgraphNode_st>> nodes;
  std::vector<std::unique_ptr<CUgraph_st>> bodies;  // of conditional nodes
  std::vector<std::unique_ptr<std::vector<CUgraph>>> body_lists;
};

// An instantiated graph: a copy of the nodes' work, which may be replaced node by node. A launch takes the copy that
// is there at that moment.
struct CUgraphExec_st {
  std::shared_ptr<const std::vector<gmlake::emulator::Operation>> operations;
  std::unordered_map<CUgraphNode, size_t> index;
};

namespace gmlake::emulator {

CUgraphNode AddNode(CUgraph graph, const CUgraphNode* dependencies, size_t count, Operation operation);
// The graph as one operation; later changes of the graph do not change it.
Operation OperationOfGraph(CUgraph graph);
void Instantiate(CUgraph graph, CUgraphExec_st* executable);
bool Replace(CUgraphExec executable, CUgraphNode node, Operation operation);
// An empty body graph for each branch of a conditional node; the list lives as long as `graph`.
CUgraph* AddBodies(CUgraph graph, unsigned count);

}  // namespace gmlake::emulator

#endif  // GMLAKE_EMULATOR_GRAPHS_H_
