#include "cc/safety/fuzz_target.h"

#include <cstdio>
#include <cstdlib>

namespace gmlake {

// Limits that are and are not multiples of the granule.
World WorldOf(uint8_t byte) {
  static constexpr int kLimits[] = {12, 25, 64, 250};  // MiB
  return {MiB(kLimits[byte % 4]), byte % 16 >= 12, byte % 32 >= 16};
}

Outcome Execute(const std::vector<Operation>& operations, const World& world) {
  Program program(world.limit, world.crowded);
  for (const Operation& operation : operations) {
    std::string problem = program.Step(operation);
    if (!problem.empty()) return {problem, program.Stats(), program.num_wakes()};
  }
  const AllocatorStats stats = program.Stats();
  return {world.abandon ? program.Abandon() : program.Finish(), stats, program.num_wakes()};
}

Outcome ExecuteInput(const uint8_t* data, size_t size) {
  if (size == 0) return {};
  return Execute(Decode(data + 1, size - 1), WorldOf(data[0]));
}

}  // namespace gmlake

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string problem = gmlake::ExecuteInput(data, size).problem;
  if (problem.empty()) return 0;
  std::fprintf(stderr, "%s\n", problem.c_str());
  std::abort();
}
