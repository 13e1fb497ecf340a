// Which address is leased, and what stands behind it: a hash table from address to the lease's first chunk.
#ifndef GMLAKE_CORE_LEASE_TABLE_H_
#define GMLAKE_CORE_LEASE_TABLE_H_

#include <cstdint>
#include <vector>

#include "cc/base/bytes.h"
#include "cc/core/chunk.h"

namespace gmlake {

// Model: a map from addresses to chunks; open addressing, linear probing, at most a quarter full, so that nearly every
// look-up ends where it begins. Invariant: no tombstones, an erased entry closes its gap.
// Thread rule: the allocator's lock. Cost: one or two cache lines per operation.
class LeaseTable {
 public:
  LeaseTable() : slots_(1024) {}

  void Insert(Address address, ChunkId chunk) {
    if (4 * (count_ + 1) > static_cast<int64_t>(slots_.size())) Double();
    slots_[Locate(address)] = {address, chunk};
    ++count_;
  }
  // The lease at `address`, or kNone.
  ChunkId Find(Address address) const { return slots_[Locate(address)].chunk; }
  // Erases it, and says what was there.
  ChunkId Erase(Address address) {
    const size_t slot = Locate(address);
    const ChunkId chunk = slots_[slot].chunk;
    if (chunk == kNone) return kNone;
    CloseGap(slot);
    --count_;
    return chunk;
  }
  int64_t count() const { return count_; }

  template <typename Visit>
  void ForEach(Visit visit) const {
    for (const Slot& slot : slots_) {
      if (slot.chunk != kNone) visit(slot.address, slot.chunk);
    }
  }

 private:
  struct Slot {
    Address address;
    ChunkId chunk = kNone;
  };

  size_t mask() const { return slots_.size() - 1; }
  // Fibonacci hashing; the low 8 bits of an address are always zero.
  size_t HomeOf(Address address) const {
    return static_cast<size_t>(((address.value() >> 8) * 0x9E3779B97F4A7C15ull) >> 20) & mask();
  }
  // The slot that holds `address`, or the empty slot where it would go.
  size_t Locate(Address address) const {
    size_t slot = HomeOf(address);
    while (slots_[slot].chunk != kNone && slots_[slot].address != address) slot = (slot + 1) & mask();
    return slot;
  }
  void CloseGap(size_t gap);
  void Double();

  std::vector<Slot> slots_;
  int64_t count_ = 0;
};

}  // namespace gmlake

#endif  // GMLAKE_CORE_LEASE_TABLE_H_
