// How an operation of ours tells that it failed: a code to branch on and a line for people. No exceptions cross any
// boundary of this project, and no code path ends the process.
#ifndef GMLAKE_BASE_STATUS_H_
#define GMLAKE_BASE_STATUS_H_

#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace gmlake {

enum class StatusCode {
  kOk,
  kOutOfMemory,         // the bytes are not there, or the limit forbids them
  kNotReady,            // transient: CUDA documents that the call may be tried again
  kNotSupported,        // this device, driver or stream state cannot do it
  kInvalidArgument,     // the caller's mistake
  kFailedPrecondition,  // right call, wrong moment (stream capture, a forked child, after shutdown)
  kDriverError,         // any other error of the driver
};

const char* ToString(StatusCode code);

// Success, or a code with a message. Success is a null pointer, because every request returns one through several
// layers: nothing is written to make one and nothing is done to destroy it. Failures are immutable and shared by
// copies.
class [[nodiscard]] Status {
 public:
  Status() = default;
  Status(StatusCode code, std::string message);

  bool ok() const { return failure_ == nullptr; }
  StatusCode code() const { return ok() ? StatusCode::kOk : failure_->code; }
  const std::string& message() const;

  // For places where failing is expected and harmless, with the reason beside the call.
  void IgnoreError() const {}

 private:
  struct Failure {
    StatusCode code;
    std::string message;
  };
  std::shared_ptr<const Failure> failure_;
};

inline Status OkStatus() { return Status(); }

// Of steps that were all taken, the first that failed says why; success if none did.
Status FirstFailure(std::initializer_list<Status> steps);

// A value, or the status that says why there is none.
template <typename T>
class [[nodiscard]] StatusOr {
 public:
  StatusOr(T value) : value_(std::move(value)) {}          // NOLINT: implicit by design
  StatusOr(Status status) : status_(std::move(status)) {}  // NOLINT: implicit by design

  bool ok() const { return value_.has_value(); }
  const Status& status() const { return status_; }

  T& operator*() { return *value_; }
  const T& operator*() const { return *value_; }
  T* operator->() { return &*value_; }
  const T* operator->() const { return &*value_; }

 private:
  Status status_;
  std::optional<T> value_;
};

}  // namespace gmlake

// Returns from the function with the status of `expression` if that failed.
#define GMLAKE_RETURN_IF_ERROR(expression)                                                        \
  do {                                                                                            \
    if (::gmlake::Status gmlake_status = (expression); !gmlake_status.ok()) return gmlake_status; \
  } while (false)

// Defines `declaration` with the value of `expression`, a StatusOr; returns from the function with its status if there
// is none. Two statements: not for the body of an `if` without braces.
#define GMLAKE_ASSIGN_OR_RETURN(declaration, expression) \
  GMLAKE_ASSIGN_OR_RETURN_AS(GMLAKE_UNIQUE_NAME(gmlake_value_, __LINE__), declaration, expression)
#define GMLAKE_ASSIGN_OR_RETURN_AS(name, declaration, expression) \
  auto name = (expression);                                       \
  if (!name.ok()) return name.status();                           \
  declaration = std::move(*name)
#define GMLAKE_UNIQUE_NAME(prefix, line) GMLAKE_JOIN_NAMES(prefix, line)
#define GMLAKE_JOIN_NAMES(prefix, line) prefix##line

#endif  // GMLAKE_BASE_STATUS_H_
