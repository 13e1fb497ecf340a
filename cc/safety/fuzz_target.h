// One input of a fuzzer as a program: the first byte chooses the world, the rest are operations (program.h).
#ifndef GMLAKE_SAFETY_FUZZ_TARGET_H_
#define GMLAKE_SAFETY_FUZZ_TARGET_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "cc/base/bytes.h"
#include "cc/core/allocator.h"
#include "cc/safety/program.h"

namespace gmlake {

// Where a program runs and how it ends.
struct World {
  Bytes limit;
  bool abandon = false;  // the allocator goes while leases live
  bool crowded = false;  // see Program
};

// What a run reached, so that a test can tell whether it tests anything.
struct Outcome {
  std::string problem;   // the first broken invariant, or nothing
  AllocatorStats stats;  // as they were at the end
  int64_t wakes = 0;
};

World WorldOf(uint8_t byte);
Outcome Execute(const std::vector<Operation>& operations, const World& world);
Outcome ExecuteInput(const uint8_t* data, size_t size);

}  // namespace gmlake

// libFuzzer's entry; ends the process if an invariant breaks.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

#endif  // GMLAKE_SAFETY_FUZZ_TARGET_H_
