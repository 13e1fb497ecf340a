#include "cc/core/ranges/range_room.h"

#include <algorithm>
#include <limits>

#include "cc/core/tables/seam.h"

namespace gmlake {
namespace {

// What came free is followed into the ranges over it, as far as that is less work than to look through all of them; and
// around a block, as far as that is less work than to look through the range.
constexpr int64_t kMostPerRange = 4;
constexpr size_t kMostAround = 4;

}  // namespace

void RangeRoom::Forget(RangeId id) {
  if (busy_.size() <= static_cast<size_t>(id)) busy_.resize(static_cast<size_t>(id) + 1);
  most_.Set(id, (*ranges_)[id].size);
  most_last_.Set(id, (*ranges_)[id].size);
}

Spot RangeRoom::FindSpot(Bytes request, bool seamless) {
  CatchUp();
  Spot best;
  Bytes smallest(std::numeric_limits<int64_t>::max());
  const auto consider = [&](RangeId id, Bytes from, Bytes size) {
    if (size >= smallest) return;
    for (Bytes offset : {from, from + size - request}) {
      if (seamless && !IsSeamless(id, offset, request)) continue;
      best = {id, offset};
      smallest = size;
      return;
    }
  };
  for (RangeId id = most_.Next(0, request); id != kNone; id = most_.Next(id + 1, request)) {
    if ((*ranges_)[id].quarantined) continue;
    Bytes longest = request - Bytes(1);
    ForEachExtent(id, request, [&](Bytes offset, Bytes size) {
      longest = std::max(longest, size);
      consider(id, offset, size);
    });
    Lower(&most_, id, longest);
  }
  return best;
}

Run RangeRoom::LongestRun(Bytes most) {
  CatchUp();
  Run longest;
  const auto next = [&](RangeId from) { return most_last_.Next(from, longest.size + Bytes(1)); };
  for (RangeId id = next(0); id != kNone; id = next(id + 1)) {
    if ((*ranges_)[id].sealed || (*ranges_)[id].quarantined) continue;
    const Run run = LastRun(id, most);
    if (run.size > longest.size) longest = run;
  }
  return longest;
}

// From the back, for as long as blocks are free and fit.
Run RangeRoom::LastRun(RangeId id, Bytes most) {
  const StitchedRange& range = (*ranges_)[id];
  Run run{id, range.size, Bytes(0), range.blocks.size()};
  for (bool whole = true; whole && run.first_block > 0;) {
    const Block& block = BlockOf(range, run.first_block - 1);
    const Bytes suffix = FreeSuffix(block);
    if (run.size + suffix > most) return run;
    if (suffix == Bytes(0)) break;
    run.size += suffix;
    run.offset -= suffix;
    --run.first_block;
    whole = suffix == block.size;
  }
  Lower(&most_last_, id, run.size);
  return run;
}

// Of few ranges nothing is kept: to look through them is less work than to keep up with what comes free.
void RangeRoom::Lower(SizeIndex* bounds, RangeId id, Bytes size) {
  if (!are_few()) bounds->Set(id, size);
}

void RangeRoom::CatchUp() {
  if (are_few()) return;
  Read(blocks_->freed());
  blocks_->ForgetFreed();
}

void RangeRoom::Read(const FreeLog& freed) {
  int64_t left = freed.complete() ? static_cast<int64_t>(ranges_->size()) * kMostPerRange : 0;
  left -= static_cast<int64_t>(freed.count()) * kMostPerRange;
  const auto on_free = [&](BlockId id) { left -= left < 0 ? 0 : OnFree(id); };
  for (auto interval = freed.begin(); interval != freed.end() && left >= 0; ++interval) {
    blocks_->ForEachIn(interval->from, interval->to, on_free);
  }
  if (left >= 0) return;
  for (size_t id = 0; id < ranges_->size(); ++id) Forget(static_cast<RangeId>(id));
}

// Some of the block came free, and may be in use again. Returns in how many ranges that matters.
int64_t RangeRoom::OnFree(BlockId id) {
  const Block& block = (*blocks_)[id];
  const Bytes prefix = FreePrefix(block);
  const Bytes suffix = FreeSuffix(block);
  if (prefix == Bytes(0) && suffix == Bytes(0)) return 0;
  for (RangeId range : block.aliases) Raise(range, id, prefix, suffix);
  return static_cast<int64_t>(block.aliases.size());
}

// So much of the block is free at its beginning, and at its end.
void RangeRoom::Raise(RangeId id, BlockId block, Bytes prefix, Bytes suffix) {
  const StitchedRange& range = (*ranges_)[id];
  if (most_[id] == range.size) return Forget(id);  // there is nothing to be raised
  const size_t index = range.IndexOf(block);
  if (prefix == (*blocks_)[block].size) return RaiseAround(id, index, index + 1);
  if (prefix > Bytes(0)) RaiseAround(id, index, index);
  if (suffix > Bytes(0)) RaiseAround(id, index + 1, index + 1);
}

// Blocks [first, behind) of the range are free, and perhaps what is around them.
void RangeRoom::RaiseAround(RangeId id, size_t first, size_t behind) {
  const StitchedRange& range = (*ranges_)[id];
  if (!Widen(range, &first, &behind)) return Forget(id);
  Bytes size = FreeEnd(range, behind) - range.StartOf(first);
  if (first > 0) size += FreeSuffix(BlockOf(range, first - 1));
  if (most_[id] < size) most_.Set(id, size);
  if (behind == range.blocks.size() && most_last_[id] < size) most_last_.Set(id, size);
}

// To all blocks that are free, side by side. False: there are too many to go on.
bool RangeRoom::Widen(const StitchedRange& range, size_t* first, size_t* behind) const {
  const size_t most = *behind - *first + kMostAround;
  const auto may_go_on = [&](size_t next) { return *behind - *first < most && IsAllFree(BlockOf(range, next)); };
  while (*behind < range.blocks.size() && may_go_on(*behind)) ++*behind;
  while (*first > 0 && may_go_on(*first - 1)) --*first;
  return *behind - *first < most;
}

// An extent that begins at `from` and is long enough holds all blocks that end within `least` of there. If one of them
// is in use, the extent begins behind it, or later; so most of the blocks before and behind it are never asked.
template <typename Visit>
void RangeRoom::ForEachExtent(RangeId id, Bytes least, Visit visit) {
  const StitchedRange& range = (*ranges_)[id];
  Bytes from;
  for (size_t first = 0; from + least <= range.size;) {  // the first block that does not begin before `from`
    size_t behind = first;
    while (behind < range.blocks.size() && range.ends[behind] < from + least) ++behind;
    size_t busy = FindBusy(id, first, behind);
    if (busy == behind) {
      busy = FreeUntil(range, behind);
      const Bytes size = FreeEnd(range, busy) - from;
      if (least <= size) visit(from, size);
      if (busy == range.blocks.size()) return;
    }
    if (range.size < range.StartOf(busy) + least) return;
    from = range.ends[busy] - FreeSuffix(BlockOf(range, busy));
    first = busy + 1;
  }
}

// One of the blocks [first, behind) that is not all free: the one found the last time, or the last; or `behind`.
size_t RangeRoom::FindBusy(RangeId id, size_t first, size_t behind) {
  const StitchedRange& range = (*ranges_)[id];
  size_t& known = busy_[id];
  if (first <= known && known < behind && !IsAllFree(BlockOf(range, known))) return known;
  for (size_t at = behind; at > first; --at) {
    if (!IsAllFree(BlockOf(range, at - 1))) return known = at - 1;
  }
  return behind;
}

// The first block from number `at` on that is not all free, or how many blocks there are.
size_t RangeRoom::FreeUntil(const StitchedRange& range, size_t at) const {
  while (at < range.blocks.size() && IsAllFree(BlockOf(range, at))) ++at;
  return at;
}

// Where an extent ends that reaches block number `at`, and does not go on behind it.
Bytes RangeRoom::FreeEnd(const StitchedRange& range, size_t at) const {
  return range.StartOf(at) + (at < range.blocks.size() ? FreePrefix(BlockOf(range, at)) : Bytes(0));
}

bool RangeRoom::IsSeamless(RangeId id, Bytes offset, Bytes request) const {
  return SeamIn(id, offset) == Bytes(0) && SeamIn(id, offset + request) == Bytes(0);
}

Bytes RangeRoom::SeamIn(RangeId id, Bytes offset) const {
  const StitchedRange& range = (*ranges_)[id];
  if (offset == range.size) return Bytes(0);
  const size_t at = range.IndexAt(offset);
  return SeamAt(*blocks_, BlockOf(range, at).home + (offset - range.StartOf(at)));
}

Bytes RangeRoom::FreePrefix(const Block& block) const {
  const Chunk& chunk = (*chunks_)[blocks_->ChunkAt(block.home)];
  if (chunk.state != ChunkState::kFree) return Bytes(0);
  return std::min(chunk.end(), block.end()) - block.home;
}

Bytes RangeRoom::FreeSuffix(const Block& block) const {
  const Chunk& chunk = (*chunks_)[blocks_->ChunkAt(block.end() - Bytes(1))];
  if (chunk.state != ChunkState::kFree) return Bytes(0);
  return block.end() - std::max(chunk.address, block.home);
}

// As if the log had been read.
std::string RangeRoom::Check() const {
  RangeRoom now = *this;
  now.Read(blocks_->freed());
  std::string problem;
  for (size_t id = 0; id < ranges_->size() && problem.empty(); ++id) problem = now.CheckRange(static_cast<RangeId>(id));
  return problem;
}

std::string RangeRoom::CheckRange(RangeId id) {
  Bytes longest, last;
  ForEachExtent(id, Bytes(1), [&](Bytes offset, Bytes size) {
    longest = std::max(longest, size);
    if (offset + size == (*ranges_)[id].size) last = size;
  });
  if (most_[id] < longest) return "a range has a longer free extent than it knows";
  return most_last_[id] < last ? "a range has more free bytes at its end than it knows" : "";
}

}  // namespace gmlake
