// The replay of cc/bench for Python: class Trace, and functions replay(), churn() and policies().
#ifndef GMLAKE_PYTHON_REPLAY_BINDINGS_H_
#define GMLAKE_PYTHON_REPLAY_BINDINGS_H_

#include <nanobind/nanobind.h>

namespace gmlake {

void DefineReplay(nanobind::module_& m);

}  // namespace gmlake

#endif  // GMLAKE_PYTHON_REPLAY_BINDINGS_H_
