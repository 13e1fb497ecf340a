// Maps the address of a lease to its first chunk.
#ifndef GMLAKE_CORE_TABLES_LEASE_TABLE_H_
#define GMLAKE_CORE_TABLES_LEASE_TABLE_H_

#include <cstdint>
#include <vector>

#include "cc/base/bytes.h"
#include "cc/core/tables/chunk.h"

namespace gmlake {

// Model: a hash table of chunks by Chunk::leased_at, which it writes; open addressing, linear probing, at most a
// quarter full, so that nearly every look-up ends where it begins. It holds numbers of four bytes and no addresses: the
// table of a job fits a core's first cache, and whoever looks up a lease reads its chunk next. Invariant: no
// tombstones, an erased entry closes its gap. Thread rule: the allocator's lock. Cost: one or two cache lines per
// operation.
class LeaseTable {
 public:
  explicit LeaseTable(ChunkStore* chunks) : chunks_(chunks), slots_(1024, kNone) {}

  // `address` is not in the table.
  void Insert(Address address, ChunkId chunk) {
    if (4 * (count_ + 1) > static_cast<int64_t>(slots_.size())) Double();
    (*chunks_)[chunk].leased_at = address;
    Enter(chunk);
    ++count_;
  }
  // The lease at `address`, or kNone.
  ChunkId Find(Address address) const { return slots_[Locate(address)]; }
  // Erases the lease and returns it; kNone: there was none.
  ChunkId Erase(Address address) {
    const size_t slot = Locate(address);
    const ChunkId chunk = slots_[slot];
    if (chunk == kNone) return kNone;
    slots_[slot] = kNone;
    if (slots_[After(slot)] != kNone) CloseGap(slot);
    --count_;
    return chunk;
  }
  int64_t count() const { return count_; }

  template <typename Visit>
  void ForEach(Visit visit) const {
    for (const ChunkId chunk : slots_) {
      if (chunk != kNone) visit(AddressOf(chunk), chunk);
    }
  }

 private:
  Address AddressOf(ChunkId chunk) const { return (*chunks_)[chunk].leased_at; }
  size_t mask() const { return slots_.size() - 1; }
  size_t After(size_t slot) const { return (slot + 1) & mask(); }
  // Fibonacci hashing; the low 8 bits of an address are always zero.
  size_t HomeOf(Address address) const {
    return static_cast<size_t>(((address.value() >> 8) * 0x9E3779B97F4A7C15ull) >> 20) & mask();
  }
  // The slot that holds the lease at `address`, or an empty one.
  size_t Locate(Address address) const {
    size_t slot = HomeOf(address);
    while (slots_[slot] != kNone && AddressOf(slots_[slot]) != address) slot = After(slot);
    return slot;
  }
  void Enter(ChunkId chunk) {
    size_t slot = HomeOf(AddressOf(chunk));
    while (slots_[slot] != kNone) slot = After(slot);
    slots_[slot] = chunk;
  }
  void CloseGap(size_t gap);
  void Double();

  ChunkStore* chunks_;
  std::vector<ChunkId> slots_;
  int64_t count_ = 0;
};

}  // namespace gmlake

#endif  // GMLAKE_CORE_TABLES_LEASE_TABLE_H_
