// The part of `_gmlake.Library` that is about sleeping and about what is outside the allocator.
#ifndef GMLAKE_PYTHON_SLEEP_BINDINGS_H_
#define GMLAKE_PYTHON_SLEEP_BINDINGS_H_

#include <nanobind/nanobind.h>

#include "cc/python/library.h"

namespace gmlake {

void DefineSleep(nanobind::class_<Library>& library);

}  // namespace gmlake

#endif  // GMLAKE_PYTHON_SLEEP_BINDINGS_H_
