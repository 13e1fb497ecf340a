#include "cc/emulator/memory/free_list.h"

#include <algorithm>

namespace gmlake::emulator {

void FreeList::Give(uint64_t begin, uint64_t size) {
  auto next = pieces_.lower_bound(begin);
  if (next != pieces_.begin()) {
    const auto previous = std::prev(next);
    if (previous->first + previous->second == begin) {
      begin = previous->first;
      size += previous->second;
      pieces_.erase(previous);
    }
  }
  if (next != pieces_.end() && begin + size == next->first) {
    size += next->second;
    pieces_.erase(next);
  }
  pieces_[begin] = size;
}

void FreeList::Take(uint64_t begin, uint64_t size) {
  const auto piece = std::prev(pieces_.upper_bound(begin));
  const uint64_t piece_begin = piece->first, piece_end = piece->first + piece->second;
  pieces_.erase(piece);
  if (begin > piece_begin) pieces_[piece_begin] = begin - piece_begin;
  if (begin + size < piece_end) pieces_[begin + size] = piece_end - (begin + size);
}

bool FreeList::Holds(uint64_t begin, uint64_t size) const {
  auto piece = pieces_.upper_bound(begin);
  if (piece == pieces_.begin()) return false;
  --piece;
  return begin + size <= piece->first + piece->second;
}

std::optional<uint64_t> FreeList::TakeBestFit(uint64_t size) {
  auto best = pieces_.end();
  for (auto piece = pieces_.begin(); piece != pieces_.end(); ++piece) {
    if (piece->second >= size && (best == pieces_.end() || piece->second < best->second)) best = piece;
  }
  if (best == pieces_.end()) return std::nullopt;
  const uint64_t begin = best->first;
  Take(begin, size);
  return begin;
}

std::optional<uint64_t> FreeList::FirstAligned(uint64_t size, uint64_t alignment, uint64_t from) const {
  auto piece = pieces_.upper_bound(from);
  if (piece != pieces_.begin()) --piece;
  for (; piece != pieces_.end(); ++piece) {
    const uint64_t begin = (std::max(piece->first, from) + alignment - 1) / alignment * alignment;
    if (begin + size <= piece->first + piece->second) return begin;
  }
  return std::nullopt;
}

std::optional<uint64_t> FreeList::TakeNextFit(uint64_t size, uint64_t alignment, uint64_t from) {
  std::optional<uint64_t> begin = FirstAligned(size, alignment, from);
  if (!begin) begin = FirstAligned(size, alignment, 0);
  if (begin) Take(*begin, size);
  return begin;
}

std::optional<uint64_t> FreeList::TakeFirst(uint64_t size, uint64_t* taken) {
  if (pieces_.empty()) return std::nullopt;
  const uint64_t begin = pieces_.begin()->first;
  *taken = std::min(size, pieces_.begin()->second);
  Take(begin, *taken);
  return begin;
}

uint64_t FreeList::largest() const {
  uint64_t largest = 0;
  for (const auto& [begin, size] : pieces_) largest = std::max(largest, size);
  return largest;
}

}  // namespace gmlake::emulator
