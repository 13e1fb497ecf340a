// The methods of class Library that watch memory: snapshots, recordings, labels, tracks and out-of-memory events. The
// tables come as bytes; gmlake_jax/recording.py makes arrays of them.
#ifndef GMLAKE_PYTHON_HISTORY_BINDINGS_H_
#define GMLAKE_PYTHON_HISTORY_BINDINGS_H_

#include <nanobind/nanobind.h>

#include "cc/python/library.h"

namespace gmlake {

void DefineHistory(nanobind::class_<Library>& library);

}  // namespace gmlake

#endif  // GMLAKE_PYTHON_HISTORY_BINDINGS_H_
