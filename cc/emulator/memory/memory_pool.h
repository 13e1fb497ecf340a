// The driver's stream-ordered pool (cuMemAllocFromPoolAsync), and, with small chunks that go back at once, its plain
// allocations (cuMemAlloc).
//
// Model, as an H200's driver showed it: the pool takes physical memory in chunks of 32 MiB, places requests by best
// fit where they are contiguous, and where no contiguous piece is free it moves whole idle chunks to new addresses
// before it takes more memory. So it fragments below the size of a chunk, and while frees are not yet complete.
// It keeps idle chunks up to the release threshold, and gives the rest back when the program synchronizes.
//
// Not modelled: hints about reuse between streams. A piece is free once the free has run in stream order.
#ifndef GMLAKE_EMULATOR_MEMORY_MEMORY_POOL_H_
#define GMLAKE_EMULATOR_MEMORY_MEMORY_POOL_H_

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "cc/emulator/memory/address_window.h"
#include "cc/emulator/memory/physical_memory.h"

namespace gmlake::emulator {

// Invariant: a chunk is mapped at one slot of the pool's addresses; free pieces lie in mapped slots.
// Thread rule: the machine's lock, and its page lock held exclusively, for everything that changes mappings.
class MemoryPool {
 public:
  // `limit`: bytes the pool may reserve; 0 for as much as the device has.
  MemoryPool(int device, AddressWindow* window, PhysicalMemory* memory, size_t chunk, size_t limit);
  ~MemoryPool();
  MemoryPool(const MemoryPool&) = delete;
  MemoryPool& operator=(const MemoryPool&) = delete;

  std::optional<uint64_t> Allocate(size_t size);
  void Free(uint64_t begin, size_t size);
  // Gives idle chunks back until at most `keep` bytes are reserved.
  void ReleaseDownTo(size_t keep);
  void ReleaseDownToThreshold() { ReleaseDownTo(threshold_); }

  int device() const { return device_; }
  size_t used() const { return used_; }
  size_t peak_used() const { return peak_used_; }
  size_t reserved() const { return slots_.size() * chunk_; }
  size_t peak_reserved() const { return peak_reserved_; }
  void ResetPeaks();
  size_t threshold() const { return threshold_; }
  void set_threshold(size_t bytes) { threshold_ = bytes; }

  // Other devices that may reach the pool's memory (cuMemPoolSetAccess).
  bool IsOpenTo(int device) const;
  void OpenTo(int device, bool open);

 private:
  // Pieces begin on this boundary.
  static constexpr size_t kAlignment = 512;
  static size_t Rounded(size_t size) { return (size + kAlignment - 1) / kAlignment * kAlignment; }

  // Addresses that become one free piece once `missing` bytes are mapped at `begin`. Idle chunks at or above
  // `keep_begin` are part of that piece already.
  struct Place {
    uint64_t begin;
    size_t missing;
    uint64_t keep_begin;
  };

  bool ReserveAddresses();
  bool Grow(size_t size);
  std::optional<Place> FindPlace(size_t size) const;
  std::optional<std::vector<Extent>> TakeChunk(uint64_t keep_begin, size_t in_hand);
  std::optional<uint64_t> FindIdleSlot(uint64_t keep_begin) const;
  std::vector<Extent> UnmapSlot(uint64_t slot);
  void MapSlot(uint64_t slot, std::vector<Extent> chunk);

  int device_;
  AddressWindow* window_;
  PhysicalMemory* memory_;
  size_t chunk_, limit_, threshold_ = 0;
  uint64_t begin_ = 0;  // the pool's addresses; 0 before the first request
  size_t span_ = 0;
  std::map<uint64_t, std::vector<Extent>> slots_;  // mapped chunks by address
  FreeList free_;                                  // free and mapped
  FreeList unmapped_;
  size_t used_ = 0, peak_used_ = 0, peak_reserved_ = 0;
  std::vector<bool> open_to_;
};

}  // namespace gmlake::emulator

struct CUmemPoolHandle_st : gmlake::emulator::MemoryPool {
  using MemoryPool::MemoryPool;
};

#endif  // GMLAKE_EMULATOR_MEMORY_MEMORY_POOL_H_
