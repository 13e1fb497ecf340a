// Graphs: nodes kept in the order in which they were added, which is always an order that keeps their dependencies.
//
// Dependencies themselves are remembered only to be asked for. A node may hold graphs of its own: a child graph, whose
// nodes run in its place, or the bodies of a conditional node, which never run: no kernel computes their condition
// here. An instantiated graph has the nodes of all of them, at every depth, and each may be updated in it.
#ifndef GMLAKE_EMULATOR_STREAMS_GRAPHS_H_
#define GMLAKE_EMULATOR_STREAMS_GRAPHS_H_

#include <memory>
#include <unordered_map>
#include <vector>

#include "cc/emulator/calls/cuda_api.h"
#include "cc/emulator/device/operation.h"

struct CUgraphNode_st {
  gmlake::emulator::Operation operation;
  CUgraph graph;
  std::vector<CUgraphNode> dependencies;
  std::vector<std::unique_ptr<CUgraph_st>> inner;  // the child graph, or the bodies
  std::vector<CUgraph> inner_list;                 // the same, for who asked for them
  CUgraphNode original = nullptr;                  // what it is a clone of
};

struct CUgraph_st {
  std::vector<std::unique_ptr<CUgraphNode_st>> nodes;
  CUgraphNode owner = nullptr;  // the node that it belongs to
};

// An instantiated graph: a copy of the nodes' work, which may be replaced node by node. A launch takes the copy that
// is there at that moment. Model: a tree, and where in it each node is; the bodies of a conditional node are a part of
// the tree that is never run.
struct CUgraphExec_st {
  using Path = std::vector<size_t>;  // places, from the outermost graph inwards

  std::shared_ptr<const std::vector<gmlake::emulator::Operation>> operations;
  std::unordered_map<CUgraphNode, Path> paths;
};

namespace gmlake::emulator {

CUgraphNode AddNode(CUgraph graph, const CUgraphNode* dependencies, size_t count, Operation operation);
// A node with a clone of `child`, or with `child` itself; null if that belongs to another node already.
CUgraphNode AddChildGraph(CUgraph graph, const CUgraphNode* dependencies, size_t count, CUgraph child,
                          CUgraphChildGraphNodeOwnership ownership);
// A conditional node with `count` empty bodies.
CUgraphNode AddConditional(CUgraph graph, const CUgraphNode* dependencies, size_t dependency_count, unsigned bodies);
std::unique_ptr<CUgraph_st> Clone(const CUgraph_st& graph);

// The work of a graph and of the graphs inside it.
std::vector<Operation> OperationsOf(const CUgraph_st& graph);

void Instantiate(CUgraph graph, CUgraphExec_st* executable);
// Takes over the work of a graph of the same shape; anything else is not done, and says why.
CUgraphExecUpdateResult Update(CUgraph graph, CUgraphExec_st* executable);

// False where the executable has no such node, or one of another kind.
bool Replace(CUgraphExec executable, CUgraphNode node, Operation operation);
// The same for all nodes of a child graph at once, by those of a graph of the same shape.
bool ReplaceChildGraph(CUgraphExec executable, CUgraphNode node, CUgraph child);
bool Enable(CUgraphExec executable, CUgraphNode node, bool enabled);
// The work of a node as it is in the executable; null if it has no such node.
const Operation* Find(const CUgraphExec_st& executable, CUgraphNode node);

}  // namespace gmlake::emulator

#endif  // GMLAKE_EMULATOR_STREAMS_GRAPHS_H_
