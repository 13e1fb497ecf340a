#include "cc/emulator/memory/memory_pool.h"

#include <sys/mman.h>

#include <algorithm>

namespace gmlake::emulator {
namespace {

constexpr size_t RoundUp(size_t size, size_t unit) { return (size + unit - 1) / unit * unit; }

}  // namespace

MemoryPool::MemoryPool(int device, AddressWindow* window, PhysicalMemory* memory, size_t chunk, size_t limit)
    : device_(device), window_(window), memory_(memory), chunk_(chunk), limit_(limit) {}

MemoryPool::~MemoryPool() {
  while (!slots_.empty()) memory_->Give(UnmapSlot(slots_.begin()->first));
  if (begin_ != 0) window_->Free(begin_, span_);
}

// Room to move chunks about: addresses cost nothing.
bool MemoryPool::ReserveAddresses() {
  if (begin_ != 0) return true;
  span_ = RoundUp(4 * memory_->total() + 4 * chunk_, chunk_);
  const std::optional<uint64_t> begin = window_->Reserve(span_, chunk_);
  if (!begin) return false;
  begin_ = *begin;
  unmapped_.Give(begin_, span_);
  return true;
}

std::optional<uint64_t> MemoryPool::Allocate(size_t size) {
  if (!ReserveAddresses()) return std::nullopt;
  std::optional<uint64_t> begin = free_.TakeBestFit(Rounded(size));
  if (!begin && Grow(Rounded(size))) begin = free_.TakeBestFit(Rounded(size));
  if (!begin) return std::nullopt;
  used_ += size;
  peak_used_ = std::max(peak_used_, used_);
  return begin;
}

void MemoryPool::Free(uint64_t begin, size_t size) {
  free_.Give(begin, Rounded(size));
  used_ -= size;
}

// Behind the last free piece if that lies at the end of what is mapped, else anywhere.
std::optional<MemoryPool::Place> MemoryPool::FindPlace(size_t size) const {
  if (!free_.pieces().empty()) {
    const auto& [begin, length] = *free_.pieces().rbegin();
    const size_t missing = RoundUp(size - std::min<size_t>(length, size), chunk_);
    if (unmapped_.Holds(begin + length, missing)) return Place{begin + length, missing, begin};
  }
  const size_t missing = RoundUp(size, chunk_);
  for (const auto& [begin, length] : unmapped_.pieces()) {
    if (length >= missing) return Place{begin, missing, UINT64_MAX};
  }
  return std::nullopt;
}

bool MemoryPool::Grow(size_t size) {
  const std::optional<Place> place = FindPlace(size);
  if (!place) return false;
  std::vector<std::vector<Extent>> chunks;
  while (chunks.size() * chunk_ < place->missing) {
    std::optional<std::vector<Extent>> chunk = TakeChunk(place->keep_begin, chunks.size() * chunk_);
    if (!chunk) break;
    chunks.push_back(std::move(*chunk));
  }
  if (chunks.size() * chunk_ < place->missing) {
    for (const auto& chunk : chunks) memory_->Give(chunk);
    return false;
  }
  for (size_t i = 0; i < chunks.size(); ++i) MapSlot(place->begin + i * chunk_, std::move(chunks[i]));
  peak_reserved_ = std::max(peak_reserved_, reserved());
  return true;
}

// Idle chunks first: a pool does not take more memory while it has its own to move.
std::optional<std::vector<Extent>> MemoryPool::TakeChunk(uint64_t keep_begin, size_t in_hand) {
  if (const std::optional<uint64_t> idle = FindIdleSlot(keep_begin)) return UnmapSlot(*idle);
  if (limit_ != 0 && reserved() + in_hand + chunk_ > RoundUp(limit_, chunk_)) return std::nullopt;
  std::vector<Extent> fresh = memory_->Take(chunk_);
  if (fresh.empty()) return std::nullopt;
  return fresh;
}

// A mapped chunk of which nothing is used, below `keep_begin`.
std::optional<uint64_t> MemoryPool::FindIdleSlot(uint64_t keep_begin) const {
  for (const auto& [begin, length] : free_.pieces()) {
    const uint64_t slot = begin_ + RoundUp(begin - begin_, chunk_);
    if (slot + chunk_ <= begin + length && slot + chunk_ <= keep_begin) return slot;
  }
  return std::nullopt;
}

std::vector<Extent> MemoryPool::UnmapSlot(uint64_t slot) {
  std::vector<Extent> chunk = std::move(slots_.at(slot));
  slots_.erase(slot);
  AddressWindow::Clear(slot, chunk_);
  if (free_.Holds(slot, chunk_)) free_.Take(slot, chunk_);
  unmapped_.Give(slot, chunk_);
  return chunk;
}

void MemoryPool::MapSlot(uint64_t slot, std::vector<Extent> chunk) {
  memory_->MapAt(slot, chunk, PROT_READ | PROT_WRITE);
  slots_[slot] = std::move(chunk);
  unmapped_.Take(slot, chunk_);
  free_.Give(slot, chunk_);
}

void MemoryPool::ReleaseDownTo(size_t keep) {
  while (reserved() > keep) {
    const std::optional<uint64_t> idle = FindIdleSlot(UINT64_MAX);
    if (!idle) return;
    memory_->Give(UnmapSlot(*idle));
  }
}

void MemoryPool::ResetPeaks() {
  peak_used_ = used_;
  peak_reserved_ = reserved();
}

bool MemoryPool::IsOpenTo(int device) const {
  return device == device_ || (device < static_cast<int>(open_to_.size()) && open_to_[device]);
}

void MemoryPool::OpenTo(int device, bool open) {
  if (device >= static_cast<int>(open_to_.size())) open_to_.resize(device + 1);
  open_to_[device] = open;
}

}  // namespace gmlake::emulator
