#include "cc/core/tables/lease_table.h"

#include <utility>

namespace gmlake {

// Moves back every follower whose home does not lie cyclically in (gap, follower].
void LeaseTable::CloseGap(size_t gap) {
  for (size_t slot = After(gap); slots_[slot] != kNone; slot = After(slot)) {
    const size_t home = HomeOf(AddressOf(slots_[slot]));
    if (((slot - home) & mask()) < ((slot - gap) & mask())) continue;
    std::swap(slots_[gap], slots_[slot]);
    gap = slot;
  }
}

void LeaseTable::Double() {
  std::vector<ChunkId> old(slots_.size() * 2, kNone);
  old.swap(slots_);
  for (const ChunkId chunk : old) {
    if (chunk != kNone) Enter(chunk);
  }
}

}  // namespace gmlake
