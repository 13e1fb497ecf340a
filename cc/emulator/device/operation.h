// One piece of work: what a stream queues, a capture records and a graph holds.
#ifndef GMLAKE_EMULATOR_DEVICE_OPERATION_H_
#define GMLAKE_EMULATOR_DEVICE_OPERATION_H_

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "cc/emulator/calls/cuda_api.h"
#include "cc/emulator/device/spans.h"

namespace gmlake::emulator {

struct Operation {
  std::string what;
  CUgraphNodeType type = CU_GRAPH_NODE_TYPE_EMPTY;
  // Memory that must be live and within reach when the work runs; otherwise the work is left out.
  std::vector<Span> spans;
  // Null for work that does nothing here (kernels).
  std::function<void()> run;
  // A graph's nodes, in an order that keeps their dependencies; each is checked on its own.
  std::shared_ptr<const std::vector<Operation>> children;

  // False: it is left out, with all its children.
  bool enabled = true;

  bool Touches(uint64_t begin, size_t size) const;
};

// Checks the operation's memory and runs it, on the calling thread.
void Execute(const Operation& operation);

}  // namespace gmlake::emulator

#endif  // GMLAKE_EMULATOR_DEVICE_OPERATION_H_
