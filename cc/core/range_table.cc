#include "cc/core/range_table.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "cc/core/seam.h"

namespace gmlake {
namespace {

constexpr size_t kUsualAliases = 8;

}  // namespace

RangeId RangeTable::Add(Address base, Bytes reserved, const std::vector<BlockId>& blocks) {
  const RangeId id = NewNumber();
  ranges_[id].base = base;
  ranges_[id].reserved = reserved;
  ranges_[id].reservation = base;
  reservations_[base.value()] = {base, reserved, 1};
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
  range.watched.clear();
}

void RangeTable::Seal(Address address) {
  for (StitchedRange& range : ranges_) {
    if (range.base <= address && address < range.base + range.reserved) range.sealed = true;
  }
}

Reservation RangeTable::Remove(RangeId id) {
  StitchedRange& range = ranges_[id];
  for (BlockId block : range.blocks) Detach(id, block);
  RemoveRecipes(id);
  const auto found = reservations_.find(range.reservation.value());
  found->second.sealed |= range.sealed;
  --found->second.ranges;
  const Reservation left = found->second;
  if (left.ranges == 0) reservations_.erase(found);
  range = StitchedRange();
  unused_.push_back(id);
  return left;
}

void RangeTable::Detach(RangeId id, BlockId block) {
  std::vector<RangeId>& aliases = (*blocks_)[block].aliases;
  aliases.erase(std::find(aliases.begin(), aliases.end(), id));
  mapped_bytes_ -= (*blocks_)[block].size;
  --mappings_;
  ranges_[id].watched.clear();
}

void RangeTable::CutOut(RangeId id, BlockId block) {
  const std::vector<BlockId>& blocks = ranges_[id].blocks;
  const size_t index = static_cast<size_t>(std::find(blocks.begin(), blocks.end(), block) - blocks.begin());
  const Bytes from = ranges_[id].StartOf(index);
  const Bytes to = ranges_[id].ends[index];
  Detach(id, block);
  RangeId behind = id;
  if (index == 0) {
    DropFront(&ranges_[id], 1);
  } else {
    behind = SplitAt(id, index, from, to);
  }
  ReviseRecipes(id, index, from, to, behind);
}

// The range begins behind its first blocks now.
void RangeTable::DropFront(StitchedRange* range, size_t blocks) {
  const Bytes dropped = range->StartOf(blocks);
  const auto count = static_cast<std::ptrdiff_t>(blocks);
  range->blocks.erase(range->blocks.begin(), range->blocks.begin() + count);
  range->ends.erase(range->ends.begin(), range->ends.begin() + count);
  for (Bytes& end : range->ends) end -= dropped;
  range->base = range->base + dropped;
  range->size -= dropped;
  range->reserved -= dropped;
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
  back.prepared = false;
  ++reservations_[back.reservation.value()].ranges;
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

void RangeTable::ReviseRecipes(RangeId id, size_t index, Bytes from, Bytes to, RangeId behind) {
  recipes_.Revise([&](Bytes request, Recipe* recipe) {
    if (recipe->range != id || recipe->offset + request <= from) return true;
    if (recipe->offset < to) return false;
    recipe->range = behind;
    recipe->offset -= to;
    recipe->first_block -= index + 1;
    return true;
  });
}

Bytes RangeTable::OffsetOf(RangeId id, BlockId block) const {
  const std::vector<BlockId>& blocks = ranges_[id].blocks;
  return ranges_[id].StartOf(static_cast<size_t>(std::find(blocks.begin(), blocks.end(), block) - blocks.begin()));
}

void RangeTable::RemoveRecipes(RangeId id) {
  recipes_.Revise([id](Bytes, Recipe* recipe) { return recipe->range != id; });
}

void RangeTable::AddRecipe(Bytes request, RangeId id, Bytes offset, int64_t moment) {
  recipes_.Add(request, {id, offset, moment, ranges_[id].IndexAt(offset), {}});
}

const Recipe* RangeTable::FindRecipe(Bytes request, int64_t moment, bool neat) {
  RecipeBook::Recipes* recipes = recipes_.Find(request);
  if (recipes == nullptr) return nullptr;
  for (Recipe& recipe : *recipes) {
    if (recipe.moment > moment) return nullptr;
    if (recipe.obstacle.Stands(*chunks_) || !Applies(&recipe, request)) continue;
    if (!neat || IsNeat(recipe.range, recipe.offset, request)) return &recipe;
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

template <typename Visit>
void RangeTable::ForEachExtent(RangeId id, Bytes least, Visit visit) const {
  const Bytes last = ranges_[id].size - least;  // an extent that begins later is too short
  Bytes offset(0), size(0), start(0);
  for (BlockId at : ranges_[id].blocks) {
    const Block& block = (*blocks_)[at];
    const FreeEnds free = FreeEndsOf(block);
    if (size == Bytes(0)) offset = start;
    size += free.prefix;
    start += block.size;
    if (free.prefix == block.size) continue;
    if (size >= least) visit(offset, size);
    if (start - block.size > last) return;
    size = free.suffix;
    offset = start - size;
    if (offset > last) return;
  }
  if (size >= least) visit(offset, size);
}

// From the back, for as long as blocks are free and fit.
Run RangeTable::LastRun(RangeId id, Bytes most) const {
  const StitchedRange& range = ranges_[id];
  Run run{id, range.size, Bytes(0), range.blocks.size()};
  for (bool whole = true; whole && run.first_block > 0;) {
    const Block& block = (*blocks_)[range.blocks[run.first_block - 1]];
    const Bytes suffix = FreeSuffix(block);
    if (suffix == Bytes(0) || run.size + suffix > most) break;
    run.size += suffix;
    --run.first_block;
    whole = suffix == block.size;
  }
  run.offset = range.size - run.size;
  return run;
}

RangeTable::Spot RangeTable::FindSpot(Bytes request, bool neat) {
  Spot best;
  Bytes smallest(std::numeric_limits<int64_t>::max());
  const auto consider = [&](RangeId id, Bytes from, Bytes size) {
    if (size >= smallest) return;
    for (Bytes offset : {from, from + size - request}) {
      if (neat && !IsNeat(id, offset, request)) continue;
      best = {id, offset};
      smallest = size;
      return;
    }
  };
  ForEach([&](RangeId id) {
    if (IsTooBusy(id, request) || Watch(id, request)) return;
    ForEachExtent(id, request, [&](Bytes offset, Bytes size) { consider(id, offset, size); });
  });
  return best;
}

// A free extent lies between two watched blocks, or before or behind them all, as long as none of them is all free.
bool RangeTable::IsTooBusy(RangeId id, Bytes request) {
  StitchedRange& range = ranges_[id];
  if (request > range.size) return true;
  if (range.watched.empty() || request < range.most_between) return false;
  return std::none_of(range.watched.begin(), range.watched.end(),
                      [this](WatchedBlock& watched) { return IsAllFree(&watched); });
}

bool RangeTable::IsAllFree(WatchedBlock* watched) const {
  if (watched->obstacle.Stands(*chunks_)) return false;
  const Block& block = (*blocks_)[watched->block];
  watched->obstacle = ObstacleIn(block, Bytes(0), block.size);
  return watched->obstacle.chunk == kNone;
}

// Watches as few blocks as leave no room for the request between them. The next is always the last that is not all free
// and ends within the request's size of where the one before begins. False, and none, where there is no such block.
bool RangeTable::Watch(RangeId id, Bytes request) {
  StitchedRange& range = ranges_[id];
  range.watched.clear();
  range.most_between = Bytes(0);
  Bytes from(0);                // where the last watched block begins
  size_t next = 0, behind = 0;  // the first block not within the request's size, and the one behind the last watched
  while (range.watched.empty() || range.size - from > request) {
    while (next < range.blocks.size() && range.ends[next] <= from + request) ++next;
    Obstacle obstacle;
    const size_t busy = LastBusy(range, behind, next, &obstacle);
    if (busy == next) return range.watched.clear(), false;
    range.watched.push_back({range.blocks[busy], obstacle});
    range.most_between = std::max(range.most_between, range.ends[busy] - from);
    from = range.StartOf(busy);
    behind = busy + 1;
  }
  range.most_between = std::max(range.most_between, range.size - from);
  return true;
}

// The last of the blocks [first, last) that is not all free, with the reason, or `last`.
size_t RangeTable::LastBusy(const StitchedRange& range, size_t first, size_t last, Obstacle* obstacle) const {
  for (size_t at = last; at > first; --at) {
    const Block& block = (*blocks_)[range.blocks[at - 1]];
    *obstacle = ObstacleIn(block, Bytes(0), block.size);
    if (obstacle->chunk != kNone) return at - 1;
  }
  return last;
}

bool RangeTable::IsNeat(RangeId id, Bytes offset, Bytes request) const {
  return SeamIn(id, offset) == Bytes(0) && SeamIn(id, offset + request) == Bytes(0);
}

Bytes RangeTable::SeamIn(RangeId id, Bytes offset) const {
  const StitchedRange& range = ranges_[id];
  if (offset == range.size) return Bytes(0);
  const size_t at = range.IndexAt(offset);
  return SeamAt(*blocks_, (*blocks_)[range.blocks[at]].home + (offset - range.StartOf(at)));
}

// Are all its bytes free?
bool RangeTable::Applies(Recipe* recipe, Bytes request) const {
  const StitchedRange& range = ranges_[recipe->range];
  const Bytes end = recipe->offset + request;
  for (size_t at = recipe->first_block; at < range.blocks.size() && range.StartOf(at) < end; ++at) {
    const Bytes start = range.StartOf(at);
    recipe->obstacle = ObstacleIn((*blocks_)[range.blocks[at]], std::max(recipe->offset, start) - start,
                                  std::min(end, range.ends[at]) - start);
    if (recipe->obstacle.chunk != kNone) return false;
  }
  return true;
}

RangeTable::FreeEnds RangeTable::FreeEndsOf(const Block& block) const {
  const Chunk& chunk = (*chunks_)[blocks_->ChunkAt(block.home)];
  const bool free = chunk.state == ChunkState::kFree;
  if (chunk.end() < block.end()) return {free ? chunk.end() - block.home : Bytes(0), FreeSuffix(block)};
  return free ? FreeEnds{block.size, block.size} : FreeEnds{};
}

Bytes RangeTable::FreeSuffix(const Block& block) const {
  const Chunk& chunk = (*chunks_)[blocks_->ChunkAt(block.end() - Bytes(1))];
  if (chunk.state != ChunkState::kFree) return Bytes(0);
  return block.end() - std::max(chunk.address, block.home);
}

}  // namespace gmlake
