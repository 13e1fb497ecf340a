#include "cc/emulator/memory/allocations.h"

namespace gmlake::emulator {

Allocation& Allocations::Add(uint64_t begin, size_t size, Kind kind, int device, MemoryPool* pool) {
  Allocation& added = by_begin_[begin];
  added = {begin, size, kind, device, pool, next_id_++};
  return added;
}

Allocation* Allocations::FindExact(uint64_t address) {
  const auto found = by_begin_.find(address);
  return found == by_begin_.end() ? nullptr : &found->second;
}

Allocation* Allocations::FindHolding(uint64_t address) {
  auto next = by_begin_.upper_bound(address);
  if (next == by_begin_.begin()) return nullptr;
  Allocation& allocation = std::prev(next)->second;
  return address < allocation.end() ? &allocation : nullptr;
}

const Allocation* Allocations::FindOverlapping(uint64_t begin, size_t size) const {
  auto next = by_begin_.lower_bound(begin);
  if (next != by_begin_.end() && next->first < begin + size) return &next->second;
  if (next == by_begin_.begin()) return nullptr;
  const Allocation& before = std::prev(next)->second;
  return before.end() > begin ? &before : nullptr;
}

size_t Allocations::Count(Kind kind) const {
  size_t count = 0;
  for (const auto& [begin, allocation] : by_begin_) count += allocation.kind == kind;
  return count;
}

}  // namespace gmlake::emulator
