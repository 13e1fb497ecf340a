#include "cc/emulator/memory/address_map.h"

#include <sys/mman.h>

#include <algorithm>

#include "cc/emulator/calls/log.h"
#include "cc/emulator/calls/settings.h"

namespace gmlake::emulator {

CUresult AddressMap::Reserve(size_t size, size_t alignment, uint64_t* begin) {
  const bool power_of_two = (alignment & (alignment - 1)) == 0;
  if (size == 0 || size % kGranule != 0 || !power_of_two) return CUDA_ERROR_INVALID_VALUE;
  const std::optional<uint64_t> found = window_->Reserve(size, std::max(alignment, kGranule));
  if (!found) return CUDA_ERROR_OUT_OF_MEMORY;
  reservations_[*found] = {*found, size};
  *begin = *found;
  return CUDA_SUCCESS;
}

CUresult AddressMap::Free(uint64_t begin, size_t size) {
  const auto found = reservations_.find(begin);
  if (found == reservations_.end() || found->second.size != size) {
    Violation(Rule::kReservation, "cuMemAddressFree(0x%lx, %zu) is not a whole reservation", begin, size);
    return CUDA_ERROR_INVALID_VALUE;
  }
  if (Overlaps(begin, size)) {
    Violation(Rule::kReservation, "cuMemAddressFree(0x%lx, %zu) of addresses that are still mapped", begin, size);
    return CUDA_ERROR_INVALID_VALUE;
  }
  window_->Free(begin, size);
  reservations_.erase(found);
  return CUDA_SUCCESS;
}

const Mapping* AddressMap::FindMapping(uint64_t address) const {
  auto next = mappings_.upper_bound(address);
  if (next == mappings_.begin()) return nullptr;
  const Mapping& mapping = std::prev(next)->second;
  return address < mapping.end() ? &mapping : nullptr;
}

const Reservation* AddressMap::FindReservation(uint64_t address) const {
  auto next = reservations_.upper_bound(address);
  if (next == reservations_.begin()) return nullptr;
  const Reservation& reservation = std::prev(next)->second;
  return address < reservation.begin + reservation.size ? &reservation : nullptr;
}

bool AddressMap::Overlaps(uint64_t begin, size_t size) const {
  const auto next = mappings_.lower_bound(begin);
  const bool one_begins_inside = next != mappings_.end() && next->first < begin + size;
  return one_begins_inside || FindMapping(begin) != nullptr;
}

// Stricter than the H200, which let a mapping run on into a neighbouring reservation.
CUresult AddressMap::CheckPlace(uint64_t begin, size_t size) const {
  const Reservation* reservation = FindReservation(begin);
  if (reservation == nullptr || begin + size > reservation->begin + reservation->size) {
    Violation(Rule::kMap, "cuMemMap(0x%lx, %zu) is not inside one reservation", begin, size);
    return CUDA_ERROR_INVALID_VALUE;
  }
  if (Overlaps(begin, size)) {
    Violation(Rule::kMap, "cuMemMap(0x%lx, %zu) over addresses that are mapped already", begin, size);
    return CUDA_ERROR_INVALID_VALUE;
  }
  return CUDA_SUCCESS;
}

CUresult AddressMap::CheckBlock(BlockHandle handle, size_t size, size_t offset) const {
  const PhysicalBlock* block = blocks_->FindHeld(handle);
  if (block == nullptr) {
    Violation(Rule::kMap, "cuMemMap of handle 0x%llx, which is not held", handle);
    return blocks_->Find(handle) ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_NOT_SUPPORTED;
  }
  if (offset == 0 && size == block->size) return CUDA_SUCCESS;
  Violation(Rule::kMap, "cuMemMap of %zu bytes at offset %zu of a block of %zu: blocks are mapped whole", size, offset,
            block->size);
  return CUDA_ERROR_NOT_SUPPORTED;
}

CUresult AddressMap::Map(uint64_t begin, size_t size, size_t offset, BlockHandle handle) {
  if (begin % kGranule != 0 || size == 0 || size % kGranule != 0) {
    Violation(Rule::kMap, "cuMemMap(0x%lx, %zu) is not in whole granules", begin, size);
    return CUDA_ERROR_INVALID_VALUE;
  }
  if (const CUresult checked = CheckBlock(handle, size, offset); checked != CUDA_SUCCESS) return checked;
  if (const CUresult place = CheckPlace(begin, size); place != CUDA_SUCCESS) return place;
  const PhysicalBlock& block = *blocks_->Find(handle);
  if (!(*memory_)[block.device].MapAt(begin, block.extents, PROT_NONE)) return CUDA_ERROR_OUT_OF_MEMORY;
  const std::vector<CUmemAccess_flags> nobody(memory_->size(), CU_MEM_ACCESS_FLAGS_PROT_NONE);
  mappings_[begin] = {begin, size, handle, block.device, nobody};
  blocks_->AddMapping(handle);
  return CUDA_SUCCESS;
}

bool AddressMap::CoversWholeMappings(uint64_t begin, size_t size) const {
  uint64_t at = begin;
  while (at < begin + size) {
    const auto mapping = mappings_.find(at);
    if (mapping == mappings_.end()) return false;
    at = mapping->second.end();
  }
  return at == begin + size;
}

// The host's pages can only be open or closed for all devices; rights by device are checked where memory is used.
int AddressMap::ProtectionOf(const Mapping& mapping) {
  int protection = PROT_NONE;
  for (const CUmemAccess_flags flags : mapping.access) {
    if (flags == CU_MEM_ACCESS_FLAGS_PROT_READ) protection |= PROT_READ;
    if (flags == CU_MEM_ACCESS_FLAGS_PROT_READWRITE) protection |= PROT_READ | PROT_WRITE;
  }
  return protection;
}

CUresult AddressMap::SetAccess(uint64_t begin, size_t size, int device, CUmemAccess_flags flags) {
  if (device < 0 || device >= static_cast<int>(memory_->size())) return CUDA_ERROR_INVALID_VALUE;
  if (size == 0 || !CoversWholeMappings(begin, size)) {
    Violation(Rule::kAccess, "cuMemSetAccess(0x%lx, %zu) does not cover whole mappings", begin, size);
    return CUDA_ERROR_INVALID_VALUE;
  }
  for (uint64_t at = begin; at < begin + size;) {
    Mapping& mapping = mappings_.at(at);
    mapping.access[device] = flags;
    if (!AddressWindow::Protect(mapping.begin, mapping.size, ProtectionOf(mapping))) return CUDA_ERROR_UNKNOWN;
    at = mapping.end();
  }
  return CUDA_SUCCESS;
}

bool AddressMap::CutsAMapping(uint64_t begin, size_t size) const {
  const Mapping* first = FindMapping(begin);
  const Mapping* last = FindMapping(begin + size - 1);
  return (first != nullptr && first->begin != begin) || (last != nullptr && last->end() != begin + size);
}

size_t AddressMap::MappedBytes(uint64_t begin, size_t size) const {
  size_t mapped = 0;
  for (auto it = mappings_.lower_bound(begin); it != mappings_.end() && it->first < begin + size; ++it) {
    mapped += it->second.size;
  }
  return mapped;
}

bool AddressMap::IsReserved(uint64_t begin, size_t size) const {
  if (size == 0 || begin % kGranule != 0 || size % kGranule != 0) return false;
  return FindReservation(begin) != nullptr && FindReservation(begin + size - 1) != nullptr;
}

// The H200 accepts what is not mapped (XLA's `vmm` unmaps each range twice); the settings can refuse it.
CUresult AddressMap::CheckUnmap(uint64_t begin, size_t size) {
  if (!IsReserved(begin, size)) {
    Violation(Rule::kUnmap, "cuMemUnmap(0x%lx, %zu) of addresses that are not reserved", begin, size);
    return CUDA_ERROR_INVALID_VALUE;
  }
  if (CutsAMapping(begin, size)) {
    Violation(Rule::kUnmap, "cuMemUnmap(0x%lx, %zu) cuts a mapping", begin, size);
    return CUDA_ERROR_INVALID_VALUE;
  }
  if (MappedBytes(begin, size) == size) return CUDA_SUCCESS;
  ++double_unmaps_;
  if (!settings().refuse_double_unmap) return CUDA_SUCCESS;
  Violation(Rule::kDoubleUnmap, "cuMemUnmap(0x%lx, %zu): %zu bytes of it are mapped", begin, size,
            MappedBytes(begin, size));
  return CUDA_ERROR_INVALID_VALUE;
}

CUresult AddressMap::Unmap(uint64_t begin, size_t size) {
  if (const CUresult allowed = CheckUnmap(begin, size); allowed != CUDA_SUCCESS) return allowed;
  auto mapping = mappings_.lower_bound(begin);
  while (mapping != mappings_.end() && mapping->first < begin + size) {
    if (!AddressWindow::Clear(mapping->second.begin, mapping->second.size)) return CUDA_ERROR_UNKNOWN;
    blocks_->DropMapping(mapping->second.block);
    mapping = mappings_.erase(mapping);
  }
  return CUDA_SUCCESS;
}

bool AddressMap::Accessible(int device, uint64_t begin, size_t size, bool write) const {
  for (uint64_t at = begin; at < begin + size;) {
    const Mapping* mapping = FindMapping(at);
    if (mapping == nullptr) return false;
    const CUmemAccess_flags flags = mapping->access[device];
    if (flags == CU_MEM_ACCESS_FLAGS_PROT_NONE) return false;
    if (write && flags != CU_MEM_ACCESS_FLAGS_PROT_READWRITE) return false;
    at = mapping->end();
  }
  return true;
}

}  // namespace gmlake::emulator
