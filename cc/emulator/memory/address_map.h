// Reserved addresses and what is mapped there: the rules of CUDA's virtual memory management.
//
// Every rule that a caller breaks is a violation, and the call answers what an H200 answered when it was asked
// (conformance/h200_answers.txt). Two answers are stricter than the real ones, and say so where they are given.
#ifndef GMLAKE_EMULATOR_MEMORY_ADDRESS_MAP_H_
#define GMLAKE_EMULATOR_MEMORY_ADDRESS_MAP_H_

#include <cstdint>
#include <map>
#include <vector>

#include "cc/emulator/memory/address_window.h"
#include "cc/emulator/memory/physical_blocks.h"

namespace gmlake::emulator {

struct Mapping {
  uint64_t begin;
  size_t size;
  BlockHandle block;
  int device;                             // where the block lives
  std::vector<CUmemAccess_flags> access;  // by device

  uint64_t end() const { return begin + size; }
};

struct Reservation {
  uint64_t begin;
  size_t size;
};

// Thread rule: the machine's lock; Unmap also needs the machine's page lock, so that no copy runs meanwhile.
class AddressMap {
 public:
  AddressMap(AddressWindow* window, PhysicalBlocks* blocks, std::vector<PhysicalMemory>* memory)
      : window_(window), blocks_(blocks), memory_(memory) {}

  CUresult Reserve(size_t size, size_t alignment, uint64_t* begin);
  CUresult Free(uint64_t begin, size_t size);
  CUresult Map(uint64_t begin, size_t size, size_t offset, BlockHandle block);
  CUresult SetAccess(uint64_t begin, size_t size, int device, CUmemAccess_flags flags);
  CUresult Unmap(uint64_t begin, size_t size);

  // Null if `address` is not in a mapping, or not in a reservation.
  const Mapping* FindMapping(uint64_t address) const;
  const Reservation* FindReservation(uint64_t address) const;
  // Whether `device` may read (or write) all of the range, which may span mappings.
  bool Accessible(int device, uint64_t begin, size_t size, bool write) const;

  size_t num_mappings() const { return mappings_.size(); }
  size_t num_reservations() const { return reservations_.size(); }
  // Maps, set-accesses and unmaps that found nothing mapped.
  uint64_t double_unmaps() const { return double_unmaps_; }

 private:
  bool Overlaps(uint64_t begin, size_t size) const;
  bool CutsAMapping(uint64_t begin, size_t size) const;
  CUresult CheckBlock(BlockHandle handle, size_t size, size_t offset) const;
  CUresult CheckPlace(uint64_t begin, size_t size) const;
  bool IsReserved(uint64_t begin, size_t size) const;
  CUresult CheckUnmap(uint64_t begin, size_t size);
  size_t MappedBytes(uint64_t begin, size_t size) const;
  bool CoversWholeMappings(uint64_t begin, size_t size) const;
  static int ProtectionOf(const Mapping& mapping);

  AddressWindow* window_;
  PhysicalBlocks* blocks_;
  std::vector<PhysicalMemory>* memory_;
  std::map<uint64_t, Reservation> reservations_;
  std::map<uint64_t, Mapping> mappings_;
  uint64_t double_unmaps_ = 0;
};

}  // namespace gmlake::emulator

#endif  // GMLAKE_EMULATOR_MEMORY_ADDRESS_MAP_H_
