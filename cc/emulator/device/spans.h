// What a piece of work touches, and whether it may.
#ifndef GMLAKE_EMULATOR_DEVICE_SPANS_H_
#define GMLAKE_EMULATOR_DEVICE_SPANS_H_

#include <cstddef>
#include <cstdint>

namespace gmlake::emulator {

// Memory that work running on `device` reads or writes.
struct Span {
  uint64_t begin;
  size_t size;
  int device;
  bool is_write;
  bool is_copy;  // copies reach a peer's plain memory without peer access, kernels do not

  bool Overlaps(uint64_t other, size_t other_size) const { return begin < other + other_size && other < begin + size; }
};

// When a span is looked at. At the call, work of the past may still be queued, so only what can never become right is
// wrong; when the work runs, everything before it in stream order has happened.
enum class Moment { kCall, kRun };

// Takes the machine's lock. False, after a violation that names `what`, if the span must not be touched.
bool CheckSpan(const Span& span, const char* what, Moment moment);

// The memory that a pointer handed to a kernel may mean, as far as it is known: from there to the end of its
// allocation, or of its mapping. Size 1 if nothing is there. Takes the machine's lock.
Span SpanOfKernelPointer(uint64_t pointer, int device);

}  // namespace gmlake::emulator

#endif  // GMLAKE_EMULATOR_DEVICE_SPANS_H_
