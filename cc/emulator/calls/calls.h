// What happens at the door of every entry point: it is counted, logged if asked for, and may be made to fail or wait.
//
// An entry point begins with GMLAKE_ENTRY(); one that CUDA forbids during a capture begins with
// GMLAKE_ENTRY_OUTSIDE_CAPTURE() (capture.h).
#ifndef GMLAKE_EMULATOR_CALLS_CALLS_H_
#define GMLAKE_EMULATOR_CALLS_CALLS_H_

#include <atomic>
#include <cstdint>

namespace gmlake::emulator {

// One entry point's counter. Lives as long as the process. Thread rule: any thread. Cost: one atomic increment, and
// the fault script's lock while there is a script.
class Call {
 public:
  explicit Call(const char* name);
  // The CUresult to fail with at once, or 0 to go on.
  int Enter();

  const char* name() const { return name_; }
  uint64_t count() const { return count_; }

 private:
  const char* name_;
  std::atomic<uint64_t> count_{0};
};

// How often the entry point `name` was called.
uint64_t CountCalls(const char* name);
// Driver calls that create, map, open, unmap, release or reserve memory: what a warm allocator must not make.
uint64_t CountMemoryCalls();

}  // namespace gmlake::emulator

#define GMLAKE_ENTRY()                                                     \
  static auto* const gmlake_call = new ::gmlake::emulator::Call(__func__); \
  if (const int gmlake_fault = gmlake_call->Enter(); gmlake_fault != 0) return static_cast<CUresult>(gmlake_fault)

#endif  // GMLAKE_EMULATOR_CALLS_CALLS_H_
