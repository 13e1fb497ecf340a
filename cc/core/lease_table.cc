#include "cc/core/lease_table.h"

namespace gmlake {

void LeaseTable::Insert(Address address, ChunkId chunk) {
  if (4 * (count_ + 1) > static_cast<int64_t>(slots_.size())) Double();
  slots_[Locate(address)] = {address, chunk};
  ++count_;
}

ChunkId LeaseTable::Find(Address address) const { return slots_[Locate(address)].chunk; }

ChunkId LeaseTable::Erase(Address address) {
  const size_t slot = Locate(address);
  const ChunkId chunk = slots_[slot].chunk;
  if (chunk == kNone) return kNone;
  CloseGap(slot);
  --count_;
  return chunk;
}

// The slot that holds `address`, or the empty slot where it would go.
size_t LeaseTable::Locate(Address address) const {
  size_t slot = HomeOf(address);
  while (slots_[slot].chunk != kNone && slots_[slot].address != address) slot = (slot + 1) & mask();
  return slot;
}

// Moves back every follower whose home does not lie cyclically in (gap, follower].
void LeaseTable::CloseGap(size_t gap) {
  size_t slot = gap;
  while (true) {
    slot = (slot + 1) & mask();
    if (slots_[slot].chunk == kNone) break;
    const size_t home = HomeOf(slots_[slot].address);
    if (((slot - home) & mask()) < ((slot - gap) & mask())) continue;
    slots_[gap] = slots_[slot];
    gap = slot;
  }
  slots_[gap] = Slot();
}

void LeaseTable::Double() {
  std::vector<Slot> old(slots_.size() * 2);
  old.swap(slots_);
  for (const Slot& slot : old) {
    if (slot.chunk != kNone) slots_[Locate(slot.address)] = slot;
  }
}

}  // namespace gmlake
