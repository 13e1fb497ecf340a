// Driver allocations by address: plain, from a pool, pinned host memory, registered host memory.
#ifndef GMLAKE_EMULATOR_MEMORY_ALLOCATIONS_H_
#define GMLAKE_EMULATOR_MEMORY_ALLOCATIONS_H_

#include <cstdint>
#include <map>

#include "cc/emulator/memory/memory_pool.h"

namespace gmlake::emulator {

enum class Kind { kPlain, kPool, kPinned, kRegistered };
inline constexpr int kNumKinds = 4;

struct Allocation {
  uint64_t begin;
  size_t size;
  Kind kind;
  int device;
  MemoryPool* pool;  // null for host memory
  uint64_t id;
  bool is_ready = true;     // false until the allocation's turn comes in its stream
  bool is_freeing = false;  // true once a free is queued

  uint64_t end() const { return begin + size; }
  bool is_host() const { return kind == Kind::kPinned || kind == Kind::kRegistered; }
};

// Thread rule: the machine's lock.
class Allocations {
 public:
  Allocation& Add(uint64_t begin, size_t size, Kind kind, int device, MemoryPool* pool);
  void Remove(uint64_t begin) { by_begin_.erase(begin); }

  // Null if no allocation begins at, or holds, `address`.
  Allocation* FindExact(uint64_t address);
  Allocation* FindHolding(uint64_t address);
  // Null if none overlaps the range.
  const Allocation* FindOverlapping(uint64_t begin, size_t size) const;
  size_t Count(Kind kind) const;

 private:
  std::map<uint64_t, Allocation> by_begin_;
  uint64_t next_id_ = 1;
};

}  // namespace gmlake::emulator

#endif  // GMLAKE_EMULATOR_MEMORY_ALLOCATIONS_H_
