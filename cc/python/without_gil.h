// Calls the library without Python's lock (the GIL). Nearly every function of the C API may wait for the allocator's
// lock or for the driver. A waiting thread that held the GIL would stop all threads of the program, and one of them may
// hold what it waits for.
//
// Two kinds of calls keep the GIL because they wait for nothing: labels of the calling thread, and the answer for the
// mailbox.
#ifndef GMLAKE_PYTHON_WITHOUT_GIL_H_
#define GMLAKE_PYTHON_WITHOUT_GIL_H_

#include <cxxabi.h>
#include <nanobind/nanobind.h>
#include <unistd.h>

namespace gmlake {

// Gives Python's lock up for as long as it lives.
//
// When the interpreter ends, Python (before 3.14) ends every other thread that takes the lock, by pthread_exit. That
// unwinds the stack, and the first frame that lets nothing through (a destructor, a binding) would end the process. So
// such a thread stays here until the process is gone, which is what Python 3.14 does.
class GilReleased {
 public:
  GilReleased() : state_(PyEval_SaveThread()) {}
  ~GilReleased() {
    try {
      PyEval_RestoreThread(state_);
    } catch (const abi::__forced_unwind&) {
      while (true) pause();
    }
  }
  GilReleased(const GilReleased&) = delete;
  GilReleased& operator=(const GilReleased&) = delete;

 private:
  PyThreadState* const state_;
};

// For bindings that touch no Python object but their arguments and result.
using WithoutGil = nanobind::call_guard<GilReleased>;

// For the part of a binding that does not.
template <typename Body>
auto Unlocked(Body body) {
  const GilReleased released;
  return body();
}

}  // namespace gmlake

#endif  // GMLAKE_PYTHON_WITHOUT_GIL_H_
