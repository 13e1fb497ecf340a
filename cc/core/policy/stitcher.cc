#include "cc/core/policy/stitcher.h"

#include <algorithm>
#include <iterator>

namespace gmlake {
namespace {

constexpr size_t kUsualPieces = 64;

// The last of `ends` (sorted by size) that is not of block `other`, or null.
const Piece* LongestBut(const std::vector<Piece>& ends, BlockId other) {
  for (auto end = ends.rbegin(); end != ends.rend(); ++end) {
    if (end->block != other) return &*end;
  }
  return nullptr;
}

Bytes SizeOf(const Piece* piece) { return piece == nullptr ? Bytes(0) : piece->size(); }

}  // namespace

// Builds a selection piece by piece. `need` is what is still to be found.
class StitchChoice {
 public:
  StitchChoice(const Stitcher::Offer& offer, Bytes request, int64_t end_per_leftover)
      : offer_(offer), free_(offer.whole, request), need_(request), end_per_leftover_(end_per_leftover) {}

  Selection Run() {
    whole_.reserve(kUsualPieces);
    TakeWholeBlocks();
    if (need_ > Bytes(0)) Finish();
    return Assemble();
  }

  // Between these ends, if they have a tail; else the last piece may still be chosen.
  Selection RunBetween(const Ends& ends) {
    head_ = ends.head;
    tail_ = ends.tail;
    need_ -= ends.size();
    while (const FreeBlock* free = need_ > Bytes(0) ? free_.Next(need_) : nullptr) TakeWhole(*free);
    if (need_ > Bytes(0) && tail_.block == kNone && !FinishWithCut()) FinishWithPrefix(/*tight=*/false);
    return Assemble();
  }

 private:
  void TakeWhole(const FreeBlock& free) {
    whole_.push_back({free.block, Bytes(0), free.size});
    need_ -= free.size;
  }

  // Largest first, until an end of a block fits what is left.
  void TakeWholeBlocks() {
    while (need_ > Bytes(0) && !FinishWithEnd(/*tight=*/true)) {
      const FreeBlock* free = free_.Next(need_);
      if (free == nullptr) return;
      TakeWhole(*free);
    }
  }

  void Finish() {
    if (FinishWithEnd(/*tight=*/true) || FinishWithCut() || FinishWithEnd(/*tight=*/false)) return;
    TakeBothEnds();
  }

  bool FinishWithEnd(bool tight) { return FinishWithSuffix(tight) || FinishWithPrefix(tight); }

  bool FinishWithSuffix(bool tight) {
    const Piece* fit = SmallestFit(offer_.suffixes, need_);
    if (fit == nullptr || (tight && !IsTight(*fit))) return false;
    head_ = {fit->block, fit->to - need_, fit->to};
    need_ = Bytes(0);
    return true;
  }

  bool FinishWithPrefix(bool tight) {
    const Piece* fit = SmallestFit(offer_.prefixes, need_, head_.block);
    if (fit == nullptr || (tight && !IsTight(*fit))) return false;
    tail_ = {fit->block, Bytes(0), need_};
    need_ = Bytes(0);
    return true;
  }

  bool IsTight(const Piece& end) const { return (end.size() - need_) * end_per_leftover_ <= end.size(); }

  // The smallest block that is larger than what is left.
  bool FinishWithCut() {
    if (free_.smallest_skipped().block == kNone) return false;
    tail_ = {free_.smallest_skipped().block, Bytes(0), need_};
    need_ = Bytes(0);
    return true;
  }

  // No single piece is enough: a suffix goes first, and the best prefix for the rest goes last.
  void TakeBothEnds() {
    TakeHead();
    if (FinishWithPrefix(/*tight=*/false)) return;
    if (const Piece* tail = LongestBut(offer_.prefixes, head_.block)) {
      tail_ = *tail;
      need_ -= tail_.size();
    }
  }

  // The longest suffix, or the second longest where the longest is of the block with the one long prefix.
  void TakeHead() {
    if (offer_.suffixes.empty()) return;
    const Piece* head = LongestBut(offer_.suffixes, kNone);
    const Piece* prefix = LongestBut(offer_.prefixes, kNone);
    if (prefix != nullptr && prefix->block == head->block) {
      const Piece* suffix = LongestBut(offer_.suffixes, head->block);
      const Piece* other = LongestBut(offer_.prefixes, head->block);
      if (suffix != nullptr && SizeOf(suffix) + SizeOf(prefix) > SizeOf(head) + SizeOf(other)) head = suffix;
      if (suffix == nullptr && SizeOf(prefix) > SizeOf(head) + SizeOf(other)) return;
    }
    head_ = *head;
    need_ -= head_.size();
  }

  Selection Assemble() {
    Selection selection;
    selection.pieces.reserve(whole_.size() + 1);
    std::sort(whole_.begin(), whole_.end(), [](const Piece& a, const Piece& b) { return a.block < b.block; });
    if (head_.block != kNone) selection.pieces.push_back(head_);
    selection.pieces.insert(selection.pieces.end(), whole_.begin(), whole_.end());
    if (tail_.block != kNone) selection.tail = tail_;
    selection.missing = need_;
    return selection;
  }

  const Stitcher::Offer& offer_;
  LargestFirst free_;
  Bytes need_;
  const int64_t end_per_leftover_;
  Piece head_ = kNoPiece;
  Piece tail_ = kNoPiece;
  std::vector<Piece> whole_;
};

Stitcher::Offer Stitcher::Behind(RangeId range, Offer offer) const {
  const auto is_in_range = [&](const auto& piece) {
    const std::vector<RangeId>& aliases = memory_->blocks[piece.block].aliases;
    return std::find(aliases.begin(), aliases.end(), range) != aliases.end();
  };
  const auto leave_out = [&](auto* pieces) {
    pieces->erase(std::remove_if(pieces->begin(), pieces->end(), is_in_range), pieces->end());
  };
  leave_out(&offer.whole);
  leave_out(&offer.prefixes);
  offer.suffixes.clear();
  return offer;
}

Selection Stitcher::ChooseFew(const Offer& offer, Bytes request) const {
  return StitchChoice(offer, request, memory_->thresholds.end_per_leftover).Run();
}

Selection Stitcher::Choose(const Offer& offer, Bytes request, bool fills) const {
  const Ends ends = fills ? OpenIn(offer).Choose(request) : Ends();
  if (ends.size() == Bytes(0)) return ChooseFew(offer, request);
  const Selection filling = StitchChoice(offer, request, memory_->thresholds.end_per_leftover).RunBetween(ends);
  if (filling.missing == Bytes(0)) return filling;
  const Selection few = ChooseFew(offer, request);
  return few.missing < filling.missing ? few : filling;
}

bool Stitcher::IsOfGranule(const Piece& end) const {
  return memory_->blocks[end.block].size == memory_->blocks.granularity();
}

bool Stitcher::HasOpenGranules(const Offer& offer) const {
  const auto any = [this](const std::vector<Piece>& ends) {
    return std::any_of(ends.begin(), ends.end(), [this](const Piece& end) { return IsOfGranule(end); });
  };
  return any(offer.suffixes) || any(offer.prefixes);
}

OpenGranules Stitcher::OpenIn(const Offer& offer) const {
  const auto open = [this](const std::vector<Piece>& ends) {
    std::vector<Piece> rests;
    std::copy_if(ends.begin(), ends.end(), std::back_inserter(rests),
                 [this](const Piece& end) { return IsOfGranule(end); });
    return rests;
  };
  return OpenGranules(open(offer.suffixes), open(offer.prefixes), memory_->blocks.granularity());
}

Bytes Stitcher::Available() const {
  const Offer offer = Survey();
  Bytes total(0);
  for (const FreeBlock& block : offer.whole) total += block.size;
  return total + BestEnds(offer);
}

// The longest suffix and the longest prefix, of different blocks, because no block is twice in a range.
Bytes Stitcher::BestEnds(const Offer& offer) {
  const Piece* suffix = LongestBut(offer.suffixes, kNone);
  const Piece* prefix = LongestBut(offer.prefixes, kNone);
  if (suffix == nullptr || prefix == nullptr) return SizeOf(suffix) + SizeOf(prefix);
  return std::max(suffix->size() + SizeOf(LongestBut(offer.prefixes, suffix->block)),
                  prefix->size() + SizeOf(LongestBut(offer.suffixes, prefix->block)));
}

std::vector<FreeBlock> Stitcher::WholeBlocks(Bytes size) const {
  std::vector<FreeBlock> blocks = Survey().whole;
  const auto other = [size](const FreeBlock& block) { return block.size != size; };
  blocks.erase(std::remove_if(blocks.begin(), blocks.end(), other), blocks.end());
  std::sort(blocks.begin(), blocks.end(), [](const FreeBlock& a, const FreeBlock& b) { return a.home < b.home; });
  return blocks;
}

FreeBlock Stitcher::SmallestWhole(Bytes size) const {
  FreeBlock smallest{kNone, Bytes(0), Address()};
  for (const FreeBlock& block : Survey().whole) {
    if (block.size < size) continue;
    const bool is_better = smallest.block == kNone || block.size < smallest.size ||
                           (block.size == smallest.size && block.home < smallest.home);
    if (is_better) smallest = block;
  }
  return smallest;
}

Stitcher::Offer Stitcher::Survey() const {
  Offer offer;
  offer.whole.reserve(kUsualPieces);
  for (std::vector<Piece>* ends : {&offer.suffixes, &offer.prefixes}) ends->reserve(kUsualPieces);
  memory_->space.ForEachFree([&](const Chunk& chunk) { SurveyChunk(chunk, &offer); });
  SortEnds(&offer.suffixes);
  SortEnds(&offer.prefixes);
  return offer;
}

void Stitcher::SurveyChunk(const Chunk& chunk, Offer* offer) const {
  for (Address at = chunk.address; at < chunk.end();) {
    const BlockId id = memory_->blocks.At(at);
    const Block& block = memory_->blocks[id];
    const bool from_start = block.home == at;
    const bool to_end = block.end() <= chunk.end();
    const Piece piece{id, at - block.home, std::min(block.end(), chunk.end()) - block.home};
    if (from_start && to_end) offer->whole.push_back({id, block.size, block.home});
    if (!from_start && to_end) offer->suffixes.push_back(piece);
    if (from_start && !to_end) offer->prefixes.push_back(piece);
    at = block.end();
  }
}

// Smallest first; by address where equal.
void Stitcher::SortEnds(std::vector<Piece>* ends) const {
  std::sort(ends->begin(), ends->end(), [this](const Piece& a, const Piece& b) {
    if (a.size() != b.size()) return a.size() < b.size();
    return memory_->blocks[a.block].home < memory_->blocks[b.block].home;
  });
}

}  // namespace gmlake
