// How an operation of ours tells that it failed: a code to branch on and a line for people. No exceptions cross any
// boundary of this project, and no code path ends the process.
#ifndef GMLAKE_BASE_STATUS_H_
#define GMLAKE_BASE_STATUS_H_

#include <string>
#include <utility>
#include <variant>

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

// Success, or a code with a message. A successful status owns no memory.
class [[nodiscard]] Status {
 public:
  Status() = default;
  Status(StatusCode code, std::string message) : code_(code), message_(std::move(message)) {}

  bool ok() const { return code_ == StatusCode::kOk; }
  StatusCode code() const { return code_; }
  const std::string& message() const { return message_; }

  // For places where failing is expected and harmless, with the reason beside the call.
  void IgnoreError() const {}

 private:
  StatusCode code_ = StatusCode::kOk;
  std::string message_;
};

inline Status OkStatus() { return Status(); }

// A value, or the status that says why there is none.
template <typename T>
class [[nodiscard]] StatusOr {
 public:
  StatusOr(T value) : state_(std::move(value)) {}              // NOLINT: implicit by design
  StatusOr(Status status) : state_(std::move(status)) {}       // NOLINT: implicit by design

  bool ok() const { return std::holds_alternative<T>(state_); }
  Status status() const { return ok() ? OkStatus() : std::get<Status>(state_); }

  T& operator*() { return std::get<T>(state_); }
  const T& operator*() const { return std::get<T>(state_); }
  T* operator->() { return &std::get<T>(state_); }
  const T* operator->() const { return &std::get<T>(state_); }

 private:
  std::variant<T, Status> state_;
};

}  // namespace gmlake

#endif  // GMLAKE_BASE_STATUS_H_
