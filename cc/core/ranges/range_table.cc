#include "cc/core/ranges/range_table.h"

#include <algorithm>

namespace gmlake {
namespace {

constexpr size_t kUsualAliases = 8;

}  // namespace

RangeId RangeTable::Add(Address base, Bytes reserved, const std::vector<BlockId>& blocks) {
  const RangeId id = NewNumber();
  ranges_[id].base = base;
  ranges_[id].reserved = reserved;
  Extend(id, blocks);
  return id;
}

RangeId RangeTable::NewNumber() {
  if (unused_.empty()) {
    ranges_.emplace_back();
    return static_cast<RangeId>(ranges_.size() - 1);
  }
  const RangeId id = unused_.back();
  unused_.pop_back();
  return id;
}

void RangeTable::Extend(RangeId id, const std::vector<BlockId>& more) {
  StitchedRange& range = ranges_[id];
  for (BlockId block : more) {
    std::vector<RangeId>& aliases = (*blocks_)[block].aliases;
    if (aliases.empty()) aliases.reserve(kUsualAliases);
    aliases.push_back(id);
    range.blocks.push_back(block);
    range.size += (*blocks_)[block].size;
    range.ends.push_back(range.size);
    mapped_bytes_ += (*blocks_)[block].size;
  }
  mappings_ += static_cast<int64_t>(more.size());
  room_.Forget(id);
}

void RangeTable::Seal(Address address) {
  for (StitchedRange& range : ranges_) {
    if (range.base <= address && address < range.base + range.reserved) range.sealed = true;
  }
}

Span RangeTable::Remove(RangeId id) {
  StitchedRange& range = ranges_[id];
  for (BlockId block : range.blocks) Detach(id, block);
  RemoveCachedStitches(id);
  const Span addresses{range.base, range.reserved};
  range = StitchedRange();
  room_.Forget(id);
  unused_.push_back(id);
  return addresses;
}

Span RangeTable::TakeBackRoom(RangeId id) {
  StitchedRange& range = ranges_[id];
  const Span room{range.base + range.size, range.reserved - range.size};
  range.reserved = range.size;
  return room;
}

void RangeTable::Detach(RangeId id, BlockId block) {
  std::vector<RangeId>& aliases = (*blocks_)[block].aliases;
  aliases.erase(std::find(aliases.begin(), aliases.end(), id));
  mapped_bytes_ -= (*blocks_)[block].size;
  --mappings_;
}

Span RangeTable::CutOut(RangeId id, BlockId block) {
  const size_t index = ranges_[id].IndexOf(block);
  const Bytes from = ranges_[id].StartOf(index);
  const Bytes to = ranges_[id].ends[index];
  Detach(id, block);
  RangeId behind = id;
  Span left;
  if (index == 0) {
    left = DropFront(&ranges_[id], 1);
  } else {
    behind = SplitAt(id, index, from, to);
  }
  ReviseCachedStitches(id, index, from, to, behind);
  room_.Forget(id);
  if (behind != kNone) room_.Forget(behind);
  return left;
}

// The range begins behind its first blocks now. Returns the addresses that it had there.
Span RangeTable::DropFront(StitchedRange* range, size_t blocks) {
  const Bytes dropped = range->StartOf(blocks);
  const Span front{range->base, dropped};
  const auto count = static_cast<std::ptrdiff_t>(blocks);
  range->blocks.erase(range->blocks.begin(), range->blocks.begin() + count);
  range->ends.erase(range->ends.begin(), range->ends.begin() + count);
  for (Bytes& end : range->ends) end -= dropped;
  range->base = range->base + dropped;
  range->size -= dropped;
  range->reserved -= dropped;
  return front;
}

// The gap stays with the front, which may be extended into it.
RangeId RangeTable::SplitAt(RangeId id, size_t index, Bytes from, Bytes to) {
  StitchedRange back = ranges_[id];
  ranges_[id].blocks.resize(index);
  ranges_[id].ends.resize(index);
  ranges_[id].size = from;
  DropFront(&back, index + 1);
  if (back.blocks.empty()) return kNone;
  ranges_[id].reserved = to;
  back.leases = 0;
  const RangeId behind = NewNumber();
  ranges_[behind] = back;
  MoveLeases(id, behind);
  return behind;
}

// A lease knows its range in its first chunk, which begins in one of the range's blocks.
void RangeTable::MoveLeases(RangeId from, RangeId to) {
  for (BlockId id : ranges_[to].blocks) {
    std::vector<RangeId>& aliases = (*blocks_)[id].aliases;
    std::replace(aliases.begin(), aliases.end(), from, to);
    const Block& block = (*blocks_)[id];
    for (ChunkId at = blocks_->ChunkAt(block.home); at != kNone && (*chunks_)[at].address < block.end();
         at = (*chunks_)[at].next) {
      Chunk& chunk = (*chunks_)[at];
      if (chunk.address < block.home || chunk.range != from) continue;
      chunk.range = to;
      --ranges_[from].leases;
      ++ranges_[to].leases;
    }
  }
}

void RangeTable::ReviseCachedStitches(RangeId id, size_t index, Bytes from, Bytes to, RangeId behind) {
  stitches_.Revise([&](Bytes request, CachedStitch* stitch) {
    if (stitch->range != id || stitch->offset + request <= from) return true;
    if (stitch->offset < to) return false;
    stitch->range = behind;
    stitch->offset -= to;
    stitch->first_block -= index + 1;
    return true;
  });
}

Bytes RangeTable::OffsetOf(RangeId id, BlockId block) const { return ranges_[id].StartOf(ranges_[id].IndexOf(block)); }

void RangeTable::RemoveCachedStitches(RangeId id) {
  stitches_.Revise([id](Bytes, CachedStitch* stitch) { return stitch->range != id; });
}

void RangeTable::AddCachedStitch(Bytes request, RangeId id, Bytes offset, int64_t moment) {
  stitches_.Add(request, {id, offset, moment, ranges_[id].IndexAt(offset), {}});
}

const CachedStitch* RangeTable::FindCachedStitch(Bytes request, int64_t moment, bool seamless) {
  StitchCache::CachedStitches* stitches = stitches_.Find(request);
  if (stitches == nullptr) return nullptr;
  for (CachedStitch& stitch : *stitches) {
    if (stitch.moment > moment) return nullptr;
    if (stitch.blocker.Stands(*chunks_) || !Applies(&stitch, request)) continue;
    if (!seamless || room_.IsSeamless(stitch.range, stitch.offset, request)) return &stitch;
  }
  return nullptr;
}

std::vector<Piece> RangeTable::PiecesOf(RangeId id, Bytes offset, Bytes size) const {
  const StitchedRange& range = ranges_[id];
  const Bytes end = offset + size;
  std::vector<Piece> pieces;
  pieces.reserve(range.blocks.size());
  for (size_t at = range.IndexAt(offset); at < range.blocks.size() && range.StartOf(at) < end; ++at) {
    const Bytes start = range.StartOf(at);
    pieces.push_back({range.blocks[at], std::max(offset, start) - start, std::min(end, range.ends[at]) - start});
  }
  return pieces;
}

// Are all its bytes free?
bool RangeTable::Applies(CachedStitch* stitch, Bytes request) const {
  const StitchedRange& range = ranges_[stitch->range];
  const Bytes end = stitch->offset + request;
  for (size_t at = stitch->first_block; at < range.blocks.size() && range.StartOf(at) < end; ++at) {
    const Bytes start = range.StartOf(at);
    stitch->blocker = BlockerIn((*blocks_)[range.blocks[at]], std::max(stitch->offset, start) - start,
                                std::min(end, range.ends[at]) - start);
    if (stitch->blocker.chunk != kNone) return false;
  }
  return true;
}

}  // namespace gmlake
