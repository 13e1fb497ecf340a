#include "cc/bench/uniform_model.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace gmlake::bench {
namespace {

constexpr Bytes kBlock = MiB(2);
constexpr Bytes kSmallest(512);
constexpr Bytes kLargestSmall = MiB(1);
constexpr Bytes kStitchedBudget = GiB(1000);

}  // namespace

Address UniformModel::Allocate(Bytes size, StreamHandle) {
  return size <= kLargestSmall ? AllocateSmall(AlignUp(size, kSmallest)) : AllocateLarge(AlignUp(size, kBlock));
}

void UniformModel::Free(Address address, StreamHandle) {
  if (const auto it = live_small_.find(address.value()); it != live_small_.end()) {
    small_.Add(address, it->second);
    live_small_.erase(it);
  } else if (const auto it = live_large_.find(address.value()); it != live_large_.end()) {
    large_.Add(address, it->second);
    live_large_.erase(it);
  } else {
    const auto live = live_stitches_.find(address.value());
    const Stitches::iterator stitched = live->second;
    live_stitches_.erase(live);
    for (const Run& piece : stitched->pieces) large_.Add(piece.start, piece.size);
    stitched->is_live = false;
    idle_stitches_.emplace(stitched->size, stitched);
  }
}

Address UniformModel::AllocateSmall(Bytes size) {
  auto run = small_.BestFit(size);
  if (!run) {
    const Address segment = AllocateLarge(kBlock);
    if (segment.is_null()) return Address();
    live_large_.erase(segment.value());  // it belongs to the small ones from now on
    small_.Add(segment, kBlock);
    run = Run{segment, kBlock};
  }
  small_.Take(run->start, size);
  live_small_.emplace(run->start.value(), size);
  return run->start;
}

Address UniformModel::AllocateLarge(Bytes size) {
  if (const Address reused = ReuseExact(size); !reused.is_null()) return reused;
  if (const Address split = Split(size); !split.is_null()) return split;
  if (large_.total() == Bytes(0)) return Create(size) ? Split(size) : Address();
  return Stitch(size);
}

// S1
Address UniformModel::ReuseExact(Bytes size) {
  const auto run = large_.BestFit(size);
  if (run && run->size == size) return Split(size);
  return ReuseStitched(size);
}

Address UniformModel::ReuseStitched(Bytes size) {
  const auto [first, last] = idle_stitches_.equal_range(size);
  const auto idle = std::find_if(first, last, [this](const auto& entry) { return IsFree(*entry.second); });
  if (idle == last) return Address();
  const Stitches::iterator stitched = idle->second;
  idle_stitches_.erase(idle);
  stitches_.splice(stitches_.end(), stitches_, stitched);
  Take(stitched->pieces);
  stitched->is_live = true;
  live_stitches_.emplace(stitched->start.value(), stitched);
  return stitched->start;
}

bool UniformModel::IsFree(const Stitched& stitched) const {
  return std::all_of(stitched.pieces.begin(), stitched.pieces.end(),
                     [this](const Run& piece) { return large_.Contains(piece.start, piece.size); });
}

void UniformModel::Take(const std::vector<Run>& pieces) {
  for (const Run& piece : pieces) large_.Take(piece.start, piece.size);
}

// S2; with a run of exactly the size, S1
Address UniformModel::Split(Bytes size) {
  const auto run = large_.BestFit(size);
  if (!run) return Address();
  large_.Take(run->start, size);
  live_large_.emplace(run->start.value(), size);
  return run->start;
}

// S3 and S4
Address UniformModel::Stitch(Bytes size) {
  if (large_.total() < size && !Create(size - large_.total())) return Address();
  std::vector<Run> pieces;
  Bytes missing = size;
  for (auto it = large_.by_size().rbegin(); missing > Bytes(0); ++it) {
    const Bytes part = std::min(missing, it->first);
    pieces.push_back({it->second, part});
    missing -= part;
  }
  const auto start = driver_->Reserve(size);
  if (!start.ok() || !MapPieces(*start, pieces)) return Address();
  Take(pieces);
  const auto stitched = stitches_.insert(stitches_.end(), Stitched{*start, size, std::move(pieces)});
  live_stitches_.emplace(start->value(), stitched);
  stitched_bytes_ += size;
  DropStitchesOverBudget();
  return *start;
}

bool UniformModel::MapPieces(Address start, const std::vector<Run>& pieces) {
  Address next = start;
  for (const Run& piece : pieces) {
    const auto& [first, blocks] = *std::prev(primitives_.upper_bound(piece.start));
    const int64_t offset = (piece.start - first) / kBlock;
    for (int64_t i = 0; i < piece.size / kBlock; ++i, next = next + kBlock) {
      if (!driver_->Map(next, kBlock, blocks[offset + i]).ok()) return false;
    }
  }
  return driver_->SetAccess(start, next - start).ok();
}

bool UniformModel::Create(Bytes size) {
  if (held_ + size > limit_) return false;
  const auto start = driver_->Reserve(size);
  if (!start.ok()) return false;
  std::vector<BlockHandle> blocks;
  for (Bytes offset; offset < size; offset += kBlock) {
    const auto block = driver_->Create(kBlock);
    if (!block.ok() || !driver_->Map(*start + offset, kBlock, *block).ok()) return false;
    blocks.push_back(*block);
  }
  if (!driver_->SetAccess(*start, size).ok()) return false;
  held_ += size;
  primitives_.emplace(*start, std::move(blocks));
  large_.Add(*start, size);
  return true;
}

void UniformModel::DropStitchesOverBudget() {
  for (auto it = stitches_.begin(); it != stitches_.end() && stitched_bytes_ > kStitchedBudget;) {
    const auto oldest = it++;
    if (!oldest->is_live) Drop(oldest);
  }
}

void UniformModel::Drop(Stitches::iterator stitched) {
  const auto [first, last] = idle_stitches_.equal_range(stitched->size);
  idle_stitches_.erase(std::find_if(first, last, [stitched](const auto& entry) { return entry.second == stitched; }));
  driver_->Unmap(stitched->start, stitched->size).IgnoreError();  // the model counts a misuse
  driver_->FreeAddress(stitched->start, stitched->size).IgnoreError();
  stitched_bytes_ -= stitched->size;
  stitches_.erase(stitched);
}

}  // namespace gmlake::bench
