// Remembers which sizes were served at the tail, at which address and when.
//
// Cached stitches (range_table.h) are tried in the order of their first use. A split of the tail has a place in that
// order too, and this table gives it: a repeated step takes the tail where the first one did, even if the same size was
// stitched later in the step. So a repeated step gets the same addresses.
#ifndef GMLAKE_CORE_TABLES_TAIL_HISTORY_H_
#define GMLAKE_CORE_TABLES_TAIL_HISTORY_H_

#include <cstdint>
#include <limits>
#include <vector>

#include "cc/base/bytes.h"

namespace gmlake {

// Model: a map from (size, address) to a moment, by hash alone: two pairs with the same hash share an entry, which
// costs nothing but a different address. Invariant: at most half full. When it may not grow any more, it forgets
// everything. Thread rule: the allocator's lock. Cost: one cache line.
class TailHistory {
 public:
  static constexpr int64_t kNever = std::numeric_limits<int64_t>::max();

  TailHistory() : slots_(kFewestSlots) {}

  // When the pair was first added, or kNever.
  int64_t Find(Bytes size, Address address) const { return slots_[Locate(Key(size, address))].moment; }

  void Add(Bytes size, Address address, int64_t moment) {
    const uint64_t key = Key(size, address);
    Slot& slot = slots_[Locate(key)];
    if (slot.moment != kNever) return;
    slot = {key, moment};
    if (2 * ++count_ > slots_.size()) Double();
  }

 private:
  static constexpr size_t kFewestSlots = 1 << 8;
  static constexpr size_t kMostSlots = 1 << 17;
  struct Slot {
    uint64_t key = 0;
    int64_t moment = kNever;
  };

  static uint64_t Key(Bytes size, Address address) {
    const uint64_t mixed = (static_cast<uint64_t>(size.count()) * 0x9E3779B97F4A7C15ull) ^ address.value();
    return mixed * 0xD6E8FEB86659FD93ull;
  }

  size_t Locate(uint64_t key) const {
    const size_t mask = slots_.size() - 1;
    size_t slot = static_cast<size_t>(key >> 40) & mask;
    while (slots_[slot].moment != kNever && slots_[slot].key != key) slot = (slot + 1) & mask;
    return slot;
  }

  void Double() {
    std::vector<Slot> old;
    old.swap(slots_);
    const bool full = old.size() == kMostSlots;
    slots_.resize(full ? kFewestSlots : 2 * old.size());
    if (full) count_ = 0;
    for (const Slot& slot : old) {
      if (!full && slot.moment != kNever) slots_[Locate(slot.key)] = slot;
    }
  }

  std::vector<Slot> slots_;
  size_t count_ = 0;
};

}  // namespace gmlake

#endif  // GMLAKE_CORE_TABLES_TAIL_HISTORY_H_
