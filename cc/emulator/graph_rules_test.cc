// Graphs that hold graphs, and changes of what is instantiated, as XLA's command buffers use them.
#include <vector>

#include "cc/emulator/conformance/emulated.h"

namespace gmlake::conformance {
namespace {

CUDA_MEMSET_NODE_PARAMS Fill(CUdeviceptr at, unsigned value) {
  CUDA_MEMSET_NODE_PARAMS fill = {};
  fill.dst = at;
  fill.value = value;
  fill.elementSize = 1;
  fill.width = 1;
  fill.height = 1;
  return fill;
}

CUDA_MEMCPY3D Copy(CUdeviceptr to, CUdeviceptr from) {
  CUDA_MEMCPY3D copy = {};
  copy.srcMemoryType = copy.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  copy.srcDevice = from;
  copy.dstDevice = to;
  copy.WidthInBytes = copy.Height = copy.Depth = 1;
  return copy;
}

// Bytes 0, 1, 2 ... of a piece of memory; graphs write some of them.
class GraphRulesTest : public RuleTest {
 protected:
  void SetUp() override {
    RuleTest::SetUp();
    GMLAKE_MUST(GMLAKE_CALL(cuCtxGetCurrent)(&context_));
    GMLAKE_MUST(GMLAKE_CALL(cuStreamCreate)(&stream_, CU_STREAM_NON_BLOCKING));
    GMLAKE_MUST(GMLAKE_CALL(cuMemAlloc)(&memory_, kBytes));
    GMLAKE_MUST(GMLAKE_CALL(cuMemsetD8)(memory_, 0, kBytes));
    graph_ = NewGraph();
  }
  void TearDown() override {
    if (executable_ != nullptr) GMLAKE_MUST(GMLAKE_CALL(cuGraphExecDestroy)(executable_));
    GMLAKE_MUST(GMLAKE_CALL(cuGraphDestroy)(graph_));
    GMLAKE_MUST(GMLAKE_CALL(cuMemFree)(memory_));
    GMLAKE_MUST(GMLAKE_CALL(cuStreamDestroy)(stream_));
    RuleTest::TearDown();
  }

  CUgraph NewGraph() {
    CUgraph graph = nullptr;
    GMLAKE_MUST(GMLAKE_CALL(cuGraphCreate)(&graph, 0));
    return graph;
  }
  CUgraphNode AddFill(CUgraph graph, int byte, unsigned value) {
    CUgraphNode node = nullptr;
    const CUDA_MEMSET_NODE_PARAMS fill = Fill(memory_ + byte, value);
    GMLAKE_MUST(GMLAKE_CALL(cuGraphAddMemsetNode)(&node, graph, nullptr, 0, &fill, context_));
    return node;
  }
  CUgraphNode AddCopy(CUgraph graph, int to, int from) {
    CUgraphNode node = nullptr;
    const CUDA_MEMCPY3D copy = Copy(memory_ + to, memory_ + from);
    GMLAKE_MUST(GMLAKE_CALL(cuGraphAddMemcpyNode)(&node, graph, nullptr, 0, &copy, context_));
    return node;
  }
  CUgraphNode AddMoved(CUgraph graph, CUgraph child) {
    CUgraphNodeParams params = {};
    params.type = CU_GRAPH_NODE_TYPE_GRAPH;
    params.graph.graph = child;
    params.graph.ownership = CU_GRAPH_CHILD_GRAPH_OWNERSHIP_MOVE;
    CUgraphNode node = nullptr;
    GMLAKE_MUST(GMLAKE_CALL(cuGraphAddNode)(&node, graph, nullptr, nullptr, 0, &params));
    return node;
  }
  CUgraphNode AddCloned(CUgraph graph, CUgraph child) {
    CUgraphNode node = nullptr;
    GMLAKE_MUST(GMLAKE_CALL(cuGraphAddChildGraphNode)(&node, graph, nullptr, 0, child));
    return node;
  }
  CUgraph GraphOf(CUgraphNode node) {
    CUgraph graph = nullptr;
    GMLAKE_MUST(GMLAKE_CALL(cuGraphChildGraphNodeGetGraph)(node, &graph));
    return graph;
  }
  CUgraphNode FirstOf(CUgraph graph) {
    CUgraphNode node = nullptr;
    size_t count = 1;
    GMLAKE_MUST(GMLAKE_CALL(cuGraphGetNodes)(graph, &node, &count));
    return node;
  }

  void Instantiate() { GMLAKE_MUST(GMLAKE_CALL(cuGraphInstantiateWithFlags)(&executable_, graph_, 0)); }
  CUresult SetFill(CUgraphNode node, int byte, unsigned value) {
    const CUDA_MEMSET_NODE_PARAMS fill = Fill(memory_ + byte, value);
    return GMLAKE_CALL(cuGraphExecMemsetNodeSetParams)(executable_, node, &fill, context_);
  }
  CUresult SetCopy(CUgraphNode node, int to, int from) {
    const CUDA_MEMCPY3D copy = Copy(memory_ + to, memory_ + from);
    return GMLAKE_CALL(cuGraphExecMemcpyNodeSetParams)(executable_, node, &copy, context_);
  }
  // The bytes after a launch; all are zero before it.
  std::vector<int> Launched(int count = 4) {
    std::vector<unsigned char> bytes(count);
    GMLAKE_MUST(GMLAKE_CALL(cuMemsetD8)(memory_, 0, kBytes));
    GMLAKE_MUST(GMLAKE_CALL(cuGraphLaunch)(executable_, stream_));
    GMLAKE_MUST(GMLAKE_CALL(cuStreamSynchronize)(stream_));
    GMLAKE_MUST(GMLAKE_CALL(cuMemcpyDtoH)(bytes.data(), memory_, count));
    return std::vector<int>(bytes.begin(), bytes.end());
  }

  static constexpr size_t kBytes = 64;
  using Values = std::vector<int>;

  CUcontext context_ = nullptr;
  CUstream stream_ = nullptr;
  CUdeviceptr memory_ = 0;
  CUgraph graph_ = nullptr;
  CUgraphExec executable_ = nullptr;
};

TEST_F(GraphRulesTest, NodesOfAMovedChildGraphAreUpdatedInTheWhole) {
  const CUgraph child = NewGraph();
  const CUgraphNode fill = AddFill(child, 0, 7);
  const CUgraphNode copy = AddCopy(child, 1, 0);
  AddFill(graph_, 3, 9);
  AddMoved(graph_, child);
  Instantiate();
  EXPECT_EQ(Launched(), (Values{7, 7, 0, 9}));
  EXPECT_EQ(SetFill(fill, 0, 8), CUDA_SUCCESS);
  EXPECT_EQ(SetCopy(copy, 2, 0), CUDA_SUCCESS);
  EXPECT_EQ(Launched(), (Values{8, 0, 8, 9}));
}

TEST_F(GraphRulesTest, NodesAreUpdatedAtEveryDepth) {
  const CUgraph middle = NewGraph(), inner = NewGraph();
  AddFill(middle, 2, 1);
  const CUgraphNode fill = AddFill(inner, 0, 7);
  AddMoved(middle, inner);
  AddMoved(graph_, middle);
  const CUgraphNode last = AddCopy(graph_, 1, 0);
  Instantiate();
  EXPECT_EQ(SetFill(fill, 0, 5), CUDA_SUCCESS);
  EXPECT_EQ(SetCopy(last, 3, 0), CUDA_SUCCESS);
  EXPECT_EQ(Launched(), (Values{5, 0, 1, 5}));
}

TEST_F(GraphRulesTest, AMovedGraphBelongsToItsNode) {
  const CUgraph child = NewGraph(), other = NewGraph();
  const CUgraphNode node = AddMoved(graph_, child);
  EXPECT_EQ(GraphOf(node), child);
  EXPECT_NE(GMLAKE_CALL(cuGraphDestroy)(child), CUDA_SUCCESS);
  CUgraphNodeParams params = {};
  params.type = CU_GRAPH_NODE_TYPE_GRAPH;
  params.graph.graph = child;
  params.graph.ownership = CU_GRAPH_CHILD_GRAPH_OWNERSHIP_MOVE;
  CUgraphNode again = nullptr;
  EXPECT_NE(GMLAKE_CALL(cuGraphAddNode)(&again, other, nullptr, nullptr, 0, &params), CUDA_SUCCESS);
  GMLAKE_MUST(GMLAKE_CALL(cuGraphDestroy)(other));
}

TEST_F(GraphRulesTest, AClonedChildGraphHasNodesOfItsOwn) {
  const CUgraph child = NewGraph();
  const CUgraphNode original = AddFill(child, 0, 7);
  const CUgraphNode node = AddCloned(graph_, child);
  AddFill(child, 1, 1);  // too late for the clone
  CUgraphNode found = nullptr;
  EXPECT_EQ(GMLAKE_CALL(cuGraphNodeFindInClone)(&found, original, GraphOf(node)), CUDA_SUCCESS);
  EXPECT_EQ(found, FirstOf(GraphOf(node)));
  Instantiate();
  EXPECT_EQ(SetFill(found, 0, 8), CUDA_SUCCESS);
  EXPECT_EQ(SetFill(original, 0, 9), CUDA_ERROR_INVALID_VALUE) << "that node is not in the executable";
  EXPECT_EQ(Launched(), (Values{8, 0, 0, 0}));
  GMLAKE_MUST(GMLAKE_CALL(cuGraphDestroy)(child));
}

TEST_F(GraphRulesTest, AChildGraphIsReplacedByOneOfTheSameShape) {
  const CUgraph child = NewGraph(), same = NewGraph(), longer = NewGraph();
  AddFill(child, 0, 7);
  AddFill(same, 1, 8);
  AddFill(longer, 0, 1);
  AddFill(longer, 1, 1);
  const CUgraphNode node = AddCloned(graph_, child);
  Instantiate();
  EXPECT_EQ(GMLAKE_CALL(cuGraphExecChildGraphNodeSetParams)(executable_, node, same), CUDA_SUCCESS);
  EXPECT_EQ(Launched(), (Values{0, 8, 0, 0}));
  EXPECT_NE(GMLAKE_CALL(cuGraphExecChildGraphNodeSetParams)(executable_, node, longer), CUDA_SUCCESS);
  EXPECT_EQ(SetFill(FirstOf(GraphOf(node)), 2, 9), CUDA_SUCCESS) << "its nodes are still known";
  EXPECT_EQ(Launched(), (Values{0, 0, 9, 0}));
  for (CUgraph graph : {child, same, longer}) GMLAKE_MUST(GMLAKE_CALL(cuGraphDestroy)(graph));
}

TEST_F(GraphRulesTest, TheBodiesOfAConditionalNodeAreUpdatedAndNeverRun) {
  CUgraphConditionalHandle handle = 0;
  GMLAKE_MUST(GMLAKE_CALL(cuGraphConditionalHandleCreate)(&handle, graph_, context_, 0, 0));
  CUgraphNodeParams params = {};
  params.type = CU_GRAPH_NODE_TYPE_CONDITIONAL;
  params.conditional.handle = handle;
  params.conditional.type = CU_GRAPH_COND_TYPE_IF;
  params.conditional.size = 2;
  CUgraphNode node = nullptr;
  GMLAKE_MUST(GMLAKE_CALL(cuGraphAddNode)(&node, graph_, nullptr, nullptr, 0, &params));
  const CUgraphNode first = AddFill(params.conditional.phGraph_out[0], 0, 1);
  const CUgraphNode second = AddCopy(params.conditional.phGraph_out[1], 1, 0);
  const CUgraphNode after = AddFill(graph_, 2, 3);
  Instantiate();
  EXPECT_EQ(SetFill(first, 0, 2), CUDA_SUCCESS);
  EXPECT_EQ(SetCopy(second, 1, 2), CUDA_SUCCESS);
  EXPECT_EQ(SetFill(second, 1, 2), CUDA_ERROR_INVALID_VALUE) << "another kind of node";
  EXPECT_EQ(SetFill(after, 3, 4), CUDA_SUCCESS);
  EXPECT_EQ(Launched(), (Values{0, 0, 0, 4}));
}

TEST_F(GraphRulesTest, ANodeIsReplacedOnlyByOneOfItsKind) {
  const CUgraphNode fill = AddFill(graph_, 0, 1);
  Instantiate();
  EXPECT_EQ(SetCopy(fill, 1, 0), CUDA_ERROR_INVALID_VALUE);
  CUgraphNodeParams params = {};
  params.type = CU_GRAPH_NODE_TYPE_MEMSET;
  params.memset.dst = memory_ + 2;
  params.memset.value = 6;
  params.memset.elementSize = 1;
  params.memset.width = params.memset.height = 1;
  EXPECT_EQ(GMLAKE_CALL(cuGraphExecNodeSetParams)(executable_, fill, &params), CUDA_SUCCESS);
  EXPECT_EQ(Launched(), (Values{0, 0, 6, 0}));
}

TEST_F(GraphRulesTest, AHostNodeIsUpdated) {
  static int called = 0;
  const CUDA_HOST_NODE_PARAMS one = {[](void* by) { called += *static_cast<int*>(by); }, nullptr};
  int first = 1, second = 10;
  CUDA_HOST_NODE_PARAMS params = one;
  params.userData = &first;
  CUgraphNode node = nullptr;
  GMLAKE_MUST(GMLAKE_CALL(cuGraphAddHostNode)(&node, graph_, nullptr, 0, &params));
  Instantiate();
  Launched();
  params.userData = &second;
  EXPECT_EQ(GMLAKE_CALL(cuGraphExecHostNodeSetParams)(executable_, node, &params), CUDA_SUCCESS);
  Launched();
  EXPECT_EQ(called, 11);
}

TEST_F(GraphRulesTest, ANodeThatIsSwitchedOffDoesNothing) {
  const CUgraph child = NewGraph();
  const CUgraphNode inside = AddFill(child, 0, 1);
  AddMoved(graph_, child);
  AddFill(graph_, 1, 2);
  Instantiate();
  GMLAKE_MUST(GMLAKE_CALL(cuGraphNodeSetEnabled)(executable_, inside, 0));
  EXPECT_EQ(SetFill(inside, 0, 3), CUDA_SUCCESS);
  unsigned enabled = 1;
  GMLAKE_MUST(GMLAKE_CALL(cuGraphNodeGetEnabled)(executable_, inside, &enabled));
  EXPECT_EQ(enabled, 0u);
  EXPECT_EQ(Launched(), (Values{0, 2, 0, 0}));
  GMLAKE_MUST(GMLAKE_CALL(cuGraphNodeSetEnabled)(executable_, inside, 1));
  EXPECT_EQ(Launched(), (Values{3, 2, 0, 0}));
}

TEST_F(GraphRulesTest, AnExecutableIsUpdatedFromAGraphOfTheSameShape) {
  AddFill(graph_, 0, 1);
  const CUgraphNode old = AddCopy(graph_, 1, 0);
  Instantiate();
  const CUgraph same = NewGraph(), other = NewGraph();
  AddFill(same, 0, 5);
  AddCopy(same, 2, 0);
  AddCopy(other, 2, 0);
  AddFill(other, 0, 5);
  CUgraphExecUpdateResultInfo result = {};
  EXPECT_EQ(GMLAKE_CALL(cuGraphExecUpdate)(executable_, same, &result), CUDA_SUCCESS);
  EXPECT_EQ(Launched(), (Values{5, 0, 5, 0}));
  EXPECT_EQ(GMLAKE_CALL(cuGraphExecUpdate)(executable_, other, &result), CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE);
  EXPECT_EQ(result.result, CU_GRAPH_EXEC_UPDATE_ERROR_NODE_TYPE_CHANGED);
  EXPECT_EQ(SetCopy(old, 3, 0), CUDA_SUCCESS) << "a node of the graph that was instantiated";
  EXPECT_EQ(Launched(), (Values{5, 0, 0, 5}));
  for (CUgraph graph : {same, other}) GMLAKE_MUST(GMLAKE_CALL(cuGraphDestroy)(graph));
}

TEST_F(GraphRulesTest, NodesOfAGraphChangeWhatIsInstantiatedLater) {
  const CUgraphNode fill = AddFill(graph_, 0, 1);
  Instantiate();
  const CUDA_MEMSET_NODE_PARAMS params = Fill(memory_ + 1, 2);
  GMLAKE_MUST(GMLAKE_CALL(cuGraphMemsetNodeSetParams)(fill, &params));
  EXPECT_EQ(Launched(), (Values{1, 0, 0, 0}));
  GMLAKE_MUST(GMLAKE_CALL(cuGraphExecDestroy)(executable_));
  Instantiate();
  EXPECT_EQ(Launched(), (Values{0, 2, 0, 0}));
}

TEST_F(GraphRulesTest, DependenciesAreKeptAndThoseAgainstTheOrderAreRefused) {
  const CUgraphNode first = AddFill(graph_, 0, 1), second = AddFill(graph_, 1, 2);
  EXPECT_EQ(GMLAKE_CALL(cuGraphAddDependencies)(graph_, &second, &first, nullptr, 1), CUDA_ERROR_NOT_SUPPORTED);
  GMLAKE_MUST(GMLAKE_CALL(cuGraphAddDependencies)(graph_, &first, &second, nullptr, 1));
  size_t count = 0;
  GMLAKE_MUST(GMLAKE_CALL(cuGraphGetRootNodes)(graph_, nullptr, &count));
  EXPECT_EQ(count, 1u);
}

}  // namespace
}  // namespace gmlake::conformance

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  gmlake::conformance::StartEmulator(/*async=*/true, /*delay_us=*/100);
  return RUN_ALL_TESTS();
}
