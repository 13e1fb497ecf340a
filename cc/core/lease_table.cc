#include "cc/core/lease_table.h"

namespace gmlake {

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
