#include "cc/emulator/device/spans.h"

#include "cc/emulator/calls/log.h"
#include "cc/emulator/calls/settings.h"
#include "cc/emulator/device/machine.h"

namespace gmlake::emulator {
namespace {

bool MayReach(const Span& span, const Allocation& allocation) {
  if (allocation.is_host() || allocation.device == span.device) return true;
  if (allocation.kind == Kind::kPool) return allocation.pool->IsOpenTo(span.device);
  return span.is_copy || machine().devices[span.device].peers[allocation.device];
}

bool CheckAllocation(const Span& span, const Allocation& allocation, const char* what, Moment moment) {
  if (span.begin + span.size > allocation.end()) {
    Violation(Rule::kOverrun, "%s: [0x%lx, +%zu) passes the end of an allocation of %zu bytes at 0x%lx", what,
              span.begin, span.size, allocation.size, allocation.begin);
    return false;
  }
  if (!MayReach(span, allocation)) {
    Violation(Rule::kAccess, "%s: device %d may not reach [0x%lx, +%zu) of device %d", what, span.device, span.begin,
              span.size, allocation.device);
    return false;
  }
  if (moment == Moment::kRun && !allocation.is_ready) {
    Violation(Rule::kUseBeforeAlloc, "%s: [0x%lx, +%zu) is not ordered after its allocation", what, span.begin,
              span.size);
    return false;
  }
  return true;
}

bool CheckMapped(const Span& span, const char* what) {
  const AddressMap& map = machine().map;
  if (map.FindReservation(span.begin) == nullptr) {
    Violation(Rule::kUseAfterFree, "%s: [0x%lx, +%zu) is not live device memory", what, span.begin, span.size);
    return false;
  }
  if (map.Accessible(span.device, span.begin, span.size, span.is_write)) return true;
  Violation(Rule::kAccess, "%s: [0x%lx, +%zu) is not mapped, or not open to device %d", what, span.begin, span.size,
            span.device);
  return false;
}

}  // namespace

bool CheckSpan(const Span& span, const char* what, Moment moment) {
  if (!settings().checks || span.size == 0) return true;
  std::lock_guard<std::mutex> lock(machine().mutex);
  const Allocation* allocation = machine().allocations.FindHolding(span.begin);
  return allocation != nullptr ? CheckAllocation(span, *allocation, what, moment) : CheckMapped(span, what);
}

Span SpanOfKernelPointer(uint64_t pointer, int device) {
  std::lock_guard<std::mutex> lock(machine().mutex);
  Span span{pointer, 1, device, /*is_write=*/false, /*is_copy=*/false};
  if (const Allocation* allocation = machine().allocations.FindHolding(pointer)) {
    span.size = allocation->end() - pointer;
  } else if (const Mapping* mapping = machine().map.FindMapping(pointer)) {
    span.size = mapping->end() - pointer;
  }
  return span;
}

}  // namespace gmlake::emulator
