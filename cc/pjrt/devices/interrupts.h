// Notices Ctrl-C during a wait. Python's own handler of SIGINT only sets a flag, and KeyboardInterrupt comes between
// two steps of the program; a request that waits for memory is inside one step.
#ifndef GMLAKE_PJRT_DEVICES_INTERRUPTS_H_
#define GMLAKE_PJRT_DEVICES_INTERRUPTS_H_

#include <functional>

namespace gmlake {

// Returns a check that is true once SIGINT has arrived since this call. As long as any check lives, a handler of ours
// stands in for the host's: it counts the signal and calls the host's. The host's is put back with the last check,
// unless somebody has set another one meanwhile.
//
// In these cases nothing is changed and the check stays false:
// - SIGINT is ignored, or ends the process.
// - The handler takes a siginfo_t.
// - The handler is another function than the first one that ours stood in for. It may call what it replaced, which
//   would be ours again.
//
// Threads: any; takes no lock of the host's. Cost: three system calls; the check is one atomic load.
std::function<bool()> WatchInterrupts();

}  // namespace gmlake

#endif  // GMLAKE_PJRT_DEVICES_INTERRUPTS_H_
