// The border between our C++ and the C callers around it (XLA, the CUDA driver's callers, a host behind the C API).
// No C++ exception may cross it: those callers have no handlers, and their frames would end the process.
//
// Our own code throws nothing. The standard library does: std::bad_alloc where the host has no memory,
// std::length_error for a size that cannot be, std::system_error where no thread can be started.
#ifndef GMLAKE_PJRT_PATCH_EXCEPTION_BARRIER_H_
#define GMLAKE_PJRT_PATCH_EXCEPTION_BARRIER_H_

#include <cxxabi.h>

#include <cstddef>
#include <cstdio>
#include <exception>
#include <type_traits>

namespace gmlake {

// `body()`, or `otherwise(what)` where it throws. `otherwise` must not throw. pthread_cancel and pthread_exit unwind
// the stack too; a thread that ends so must go on ending.
template <typename Body, typename Otherwise>
auto Guard(Body body, Otherwise otherwise) -> decltype(body()) {
  try {
    return body();
  } catch (const abi::__forced_unwind&) {
    throw;
  } catch (const std::exception& error) {
    return otherwise(error.what());
  } catch (...) {
    return otherwise("an exception of unknown type");
  }
}

// `body()` for what may fail without harm: false where it threw.
template <typename Body>
bool Attempt(Body body) {
  return Guard(
      [&] {
        body();
        return true;
      },
      [](const char*) { return false; });
}

// A C function that no exception leaves. Only ExceptionBarrier makes one, so whoever asks for this type gets a fenced
// function.
template <typename Function>
class NoThrow {
 public:
  Function* get() const { return function_; }

 private:
  template <auto kFunction, typename Policy>
  friend struct ExceptionBarrier;
  explicit constexpr NoThrow(Function* function) : function_(function) {}

  Function* function_;
};

// Wraps `kFunction`; `Policy::Answer<Result>(what, args...)` is what its caller gets in place of an exception.
template <auto kFunction, typename Policy>
struct ExceptionBarrier;

template <typename Result, typename... Args, Result (*kFunction)(Args...), typename Policy>
struct ExceptionBarrier<kFunction, Policy> {
  static Result Call(Args... args) {
    return Guard([&] { return kFunction(args...); },
                 [&](const char* what) { return Policy::template Answer<Result>(what, args...); });
  }
  static constexpr NoThrow<Result(Args...)> Wrap() { return NoThrow<Result(Args...)>(&Call); }
};

// Entry points that stand for functions of the CUDA driver: as if the driver had no memory.
struct AnswerAsCuda {
  static constexpr int kOutOfMemory = 2;  // CUDA_ERROR_OUT_OF_MEMORY

  template <typename Result, typename... Args>
  static Result Answer(const char*, Args...) {
    return static_cast<Result>(kOutOfMemory);
  }
};

// Functions of the C API: -1, a null pointer or nothing, and one line in the caller's buffer where it gave one.
struct AnswerAsCApi {
  template <typename Result, typename... Args>
  static Result Answer(const char* what, Args... args) {
    Tell(what, args...);
    if constexpr (std::is_integral_v<Result>) return static_cast<Result>(-1);
    if constexpr (std::is_pointer_v<Result>) return nullptr;
  }

 private:
  static void Tell(const char*) {}
  static void Tell(const char* what, char* message, size_t size) {
    if (message != nullptr) std::snprintf(message, size, "gmlake_jax could not do this: %s in its own code", what);
  }
  template <typename First, typename... Rest>
  static void Tell(const char* what, First, Rest... rest) {
    Tell(what, rest...);
  }
};

}  // namespace gmlake

#endif  // GMLAKE_PJRT_PATCH_EXCEPTION_BARRIER_H_
