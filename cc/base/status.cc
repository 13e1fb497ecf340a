#include "cc/base/status.h"

#include <utility>

namespace gmlake {

Status::Status(StatusCode code, std::string message) {
  if (code != StatusCode::kOk) failure_ = std::make_shared<const Failure>(Failure{code, std::move(message)});
}

const std::string& Status::message() const {
  static const std::string none;
  return ok() ? none : failure_->message;
}

Status FirstFailure(std::initializer_list<Status> steps) {
  for (const Status& step : steps) {
    if (!step.ok()) return step;
  }
  return OkStatus();
}

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
