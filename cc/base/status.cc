#include "cc/base/status.h"

namespace gmlake {

const char* ToString(StatusCode code) {
  switch (code) {
    case StatusCode::kOk: return "ok";
    case StatusCode::kOutOfMemory: return "out of memory";
    case StatusCode::kNotReady: return "not ready";
    case StatusCode::kNotSupported: return "not supported";
    case StatusCode::kInvalidArgument: return "invalid argument";
    case StatusCode::kFailedPrecondition: return "failed precondition";
    case StatusCode::kDriverError: return "driver error";
  }
  return "unknown";
}

}  // namespace gmlake
