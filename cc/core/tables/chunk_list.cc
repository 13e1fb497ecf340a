#include "cc/core/tables/chunk_list.h"

#include <algorithm>

namespace gmlake {

// These are in the path of nearly every request or free, which is why they stand here, and inline.

inline ChunkId ChunkList::Cut(ChunkId id, Bytes offset) {
  const ChunkId back_id = chunks_->Add();
  Chunk& front = at(id);
  Chunk& back = at(back_id);
  back.address = front.address + offset;
  back.size = front.size - offset;
  back.freed = front.freed;
  back.previous = id;
  back.next = front.next;
  back.state = front.state;
  back.small = front.small;
  back.tail = front.tail;
  front.size = offset;
  front.next = back_id;
  if (back.next != kNone) at(back.next).previous = back_id;
  if (blocks_ != nullptr) blocks_->OnCut(front.address, back.address, back_id);
  return back_id;
}

inline ChunkId ChunkList::Merge(ChunkId left, ChunkId right) {
  Chunk& first = at(left);
  const Chunk& second = at(right);
  if (blocks_ != nullptr) blocks_->OnMerge(first.address, second.address, second.end(), second.next);
  first.size += second.size;
  first.freed = std::max(first.freed, second.freed);
  first.next = second.next;
  if (first.next != kNone) at(first.next).previous = left;
  chunks_->Remove(right);
  return left;
}

inline bool ChunkList::IsTail(const Chunk& chunk) const {
  return chunk.next != kNone && at(chunk.next).state == ChunkState::kHole && at(chunk.next).next == kNone;
}

inline void ChunkList::BinFree(ChunkId id) {
  Chunk& chunk = at(id);
  free_bytes_ += chunk.size;
  chunk.tail = IsTail(chunk);
  if (chunk.tail) {
    tails_.push_back(id);
  } else {
    bins_.Insert(chunk.size, chunk.address, id);
  }
}

inline void ChunkList::UnbinFree(ChunkId id) {
  Chunk& chunk = at(id);
  free_bytes_ -= chunk.size;
  if (chunk.tail) {
    tails_.erase(std::find(tails_.begin(), tails_.end(), id));
  } else {
    bins_.Erase(chunk.size, chunk.address);
  }
  chunk.tail = false;
}

ChunkId ChunkList::AddRegion(Address address, Bytes size, ChunkState state) {
  const ChunkId id = chunks_->Add();
  Chunk& chunk = at(id);
  chunk.address = address;
  chunk.size = size;
  chunk.state = state;
  chunk.small = small_;
  if (blocks_ != nullptr) blocks_->OnRegion(address, id);
  Bin(id);
  return id;
}

void ChunkList::RemoveRegion(ChunkId id) {
  Unbin(id);
  chunks_->Remove(id);
}

bool ChunkList::IsWholeRegion(ChunkId id) const { return at(id).previous == kNone && at(id).next == kNone; }

ChunkId ChunkList::Take(ChunkId free, Bytes offset, Bytes size) {
  if (offset == Bytes(0) && size < at(free).size) return TakeFront(free, size);
  UnbinFree(free);
  const ChunkId id = Isolate(free, offset, size);
  at(id).state = ChunkState::kUsed;
  return id;
}

// The usual case. What is left is still a tail if it was one, and mostly stays in its bin.
ChunkId ChunkList::TakeFront(ChunkId free, Bytes size) {
  const Bytes size_before = at(free).size;
  const ChunkId rest = Cut(free, size);
  Chunk& front = at(free);
  free_bytes_ -= size;
  if (front.tail) {
    std::replace(tails_.begin(), tails_.end(), free, rest);
  } else {
    bins_.Replace(size_before, front.address, at(rest).size, at(rest).address, rest);
  }
  front.state = ChunkState::kUsed;
  front.tail = false;
  return free;
}

ChunkId ChunkList::Give(ChunkId used) {
  Chunk& chunk = at(used);
  if (blocks_ != nullptr) blocks_->OnGive(chunk);
  chunk.state = ChunkState::kFree;
  chunk.range = kNone;
  chunk.next_piece = kNone;
  return Coalesce(used);
}

ChunkId ChunkList::Populate(ChunkId hole, Bytes offset, Bytes size) {
  Unbin(hole);
  const ChunkId id = Isolate(hole, offset, size);
  at(id).state = ChunkState::kFree;
  RebinBefore(hole);
  return id;
}

ChunkId ChunkList::FinishPopulate(ChunkId opened) { return Coalesce(opened); }

ChunkId ChunkList::Depopulate(ChunkId free, Bytes offset, Bytes size) {
  Unbin(free);
  ChunkId id = Isolate(free, offset, size);
  at(id).state = ChunkState::kHole;
  id = Coalesce(id);
  RebinBefore(id);
  return id;
}

// The chunk before a hole that begins or ends elsewhere now, or is no hole any more: it may be the tail, or may no
// longer be.
void ChunkList::RebinBefore(ChunkId hole) {
  const ChunkId previous = at(hole).previous;
  if (previous == kNone || at(previous).state != ChunkState::kFree) return;
  Unbin(previous);
  Bin(previous);
}

void ChunkList::Retire(ChunkId hole, Bytes offset, Bytes size) {
  Unbin(hole);
  at(Isolate(hole, offset, size)).state = ChunkState::kUsed;
  RebinBefore(hole);
}

void ChunkList::Bin(ChunkId id) {
  const Chunk& chunk = at(id);
  if (chunk.state == ChunkState::kFree) return BinFree(id);
  const auto place =
      std::find_if(holes_.begin(), holes_.end(), [&](ChunkId hole) { return chunk.address < at(hole).address; });
  holes_.insert(place, id);
}

void ChunkList::Unbin(ChunkId id) {
  if (at(id).state == ChunkState::kFree) return UnbinFree(id);
  holes_.erase(std::find(holes_.begin(), holes_.end(), id));
}

ChunkId ChunkList::Isolate(ChunkId id, Bytes offset, Bytes size) {
  if (offset > Bytes(0)) {
    id = Cut(id, offset);
    Bin(at(id).previous);
  }
  if (size == at(id).size) return id;
  const ChunkId rest = Cut(id, size);
  Bin(rest);
  return at(rest).previous;
}

ChunkId ChunkList::Coalesce(ChunkId id) {
  const Chunk& chunk = at(id);
  const ChunkId previous = chunk.previous;
  const ChunkId next = chunk.next;
  if (previous != kNone && at(previous).state == chunk.state) {
    Unbin(previous);
    id = Merge(previous, id);
  }
  if (next != kNone && at(next).state == at(id).state) {
    Unbin(next);
    id = Merge(id, next);
  }
  Bin(id);
  return id;
}

ChunkId ChunkList::TailFit(Bytes size) const {
  const auto fit = std::find_if(tails_.begin(), tails_.end(), [&](ChunkId id) { return size <= at(id).size; });
  return fit == tails_.end() ? kNone : *fit;
}

Bytes ChunkList::LargestFree() const {
  Bytes largest = bins_.Largest();
  for (ChunkId id : tails_) largest = std::max(largest, at(id).size);
  return largest;
}

std::string ChunkList::CheckRegion(ChunkId first) const {
  for (ChunkId id = first; id != kNone; id = at(id).next) {
    std::string fault = CheckChunk(at(id));
    if (fault.empty() && at(id).next != kNone) fault = CheckNeighbours(id, at(at(id).next));
    if (!fault.empty()) return fault;
  }
  return "";
}

std::string ChunkList::CheckChunk(const Chunk& chunk) const {
  if (chunk.size <= Bytes(0)) return "a chunk without bytes";
  const bool free = chunk.state == ChunkState::kFree && !chunk.tail;
  if (free != bins_.Contains(chunk.size, chunk.address)) return "bins do not match the free chunks";
  if (chunk.tail != (chunk.state == ChunkState::kFree && IsTail(chunk))) return "a tail is not the end of its region";
  return "";
}

std::string ChunkList::CheckNeighbours(ChunkId id, const Chunk& next) const {
  const Chunk& chunk = at(id);
  if (next.previous != id || next.address != chunk.end()) return "chunks do not tile their region";
  if (next.state == chunk.state && chunk.state != ChunkState::kUsed) return "neighbours not coalesced";
  return "";
}

}  // namespace gmlake
