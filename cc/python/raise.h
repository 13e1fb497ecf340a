// Raises a Status as a Python exception. Only the bindings include this; other code returns errors.
#ifndef GMLAKE_PYTHON_RAISE_H_
#define GMLAKE_PYTHON_RAISE_H_

#include <stdexcept>
#include <utility>

#include "cc/base/status.h"

namespace gmlake {

inline void Check(const Status& status) {
  if (!status.ok()) throw std::runtime_error(status.message());
}

template <typename T>
T Take(StatusOr<T> result) {
  Check(result.status());
  return std::move(*result);
}

}  // namespace gmlake

#endif  // GMLAKE_PYTHON_RAISE_H_
