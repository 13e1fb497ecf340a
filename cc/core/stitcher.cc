#include "cc/core/stitcher.h"

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

// The smallest piece of at least `size`, or the end.
std::vector<Piece>::const_iterator Fit(const std::vector<Piece>& sorted, Bytes size) {
  return std::partition_point(sorted.begin(), sorted.end(), [size](const Piece& piece) { return piece.size() < size; });
}

std::vector<Piece> Without(const std::vector<BlockId>& blocks, const std::vector<Piece>& pieces) {
  std::vector<Piece> others;
  others.reserve(pieces.size());
  std::copy_if(pieces.begin(), pieces.end(), std::back_inserter(others), [&](const Piece& piece) {
    return std::find(blocks.begin(), blocks.end(), piece.block) == blocks.end();
  });
  return others;
}

}  // namespace

// Builds a selection piece by piece. `need` is what is still to be found.
class StitchChoice {
 public:
  StitchChoice(const Stitcher::Offer& offer, Bytes request, int64_t end_per_leftover)
      : offer_(offer), need_(request), end_per_leftover_(end_per_leftover) {}

  Selection Run() {
    whole_.reserve(kUsualPieces);
    TakeWholeBlocks();
    if (need_ > Bytes(0)) Finish();
    return Assemble();
  }

 private:
  // Largest first, until an end of a block fits what is left.
  void TakeWholeBlocks() {
    for (const Piece& block : offer_.whole) {
      if (need_ == Bytes(0) || FinishWithEnd(/*tight=*/true)) return;
      if (block.size() > need_) {
        cut_ = &block;  // the smallest block so far that is larger than what is left
        continue;
      }
      whole_.push_back(block);
      need_ -= block.size();
    }
  }

  void Finish() {
    if (FinishWithEnd(/*tight=*/true) || FinishWithCut() || FinishWithEnd(/*tight=*/false)) return;
    TakeBothEnds();
  }

  bool FinishWithEnd(bool tight) { return FinishWithSuffix(tight) || FinishWithPrefix(tight); }

  bool FinishWithSuffix(bool tight) {
    const auto fit = Fit(offer_.suffixes, need_);
    if (fit == offer_.suffixes.end() || (tight && !IsTight(*fit))) return false;
    head_ = {fit->block, fit->to - need_, fit->to};
    need_ = Bytes(0);
    return true;
  }

  bool FinishWithPrefix(bool tight) {
    auto fit = Fit(offer_.prefixes, need_);
    if (fit != offer_.prefixes.end() && fit->block == head_.block) ++fit;  // no block twice in a range
    if (fit == offer_.prefixes.end() || (tight && !IsTight(*fit))) return false;
    tail_ = {fit->block, Bytes(0), need_};
    need_ = Bytes(0);
    return true;
  }

  bool IsTight(const Piece& end) const { return (end.size() - need_) * end_per_leftover_ <= end.size(); }

  bool FinishWithCut() {
    if (cut_ == nullptr) return false;
    tail_ = {cut_->block, Bytes(0), need_};
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
  Bytes need_;
  const int64_t end_per_leftover_;
  Piece head_{kNone, Bytes(0), Bytes(0)};
  Piece tail_{kNone, Bytes(0), Bytes(0)};
  const Piece* cut_ = nullptr;
  std::vector<Piece> whole_;
};

Stitcher::Offer Stitcher::Offer::BehindBlocks(const std::vector<BlockId>& blocks) const {
  return {Without(blocks, whole), {}, Without(blocks, prefixes)};
}

Selection Stitcher::Choose(const Offer& offer, Bytes request) const {
  return StitchChoice(offer, request, memory_->thresholds.end_per_leftover).Run();
}

Bytes Stitcher::Available() const {
  const Offer offer = Survey();
  Bytes total(0);
  for (const Piece& block : offer.whole) total += block.size();
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

std::vector<BlockId> Stitcher::WholeBlocks(Bytes size) const {
  std::vector<BlockId> blocks;
  for (const Piece& piece : Survey().whole) {
    if (piece.size() == size) blocks.push_back(piece.block);
  }
  return blocks;
}

Stitcher::Offer Stitcher::Survey() const {
  Offer offer;
  for (std::vector<Piece>* pieces : {&offer.whole, &offer.suffixes, &offer.prefixes}) pieces->reserve(kUsualPieces);
  memory_->space.ForEachFree([&](const Chunk& chunk) { SurveyChunk(chunk, &offer); });
  Sort(&offer);
  return offer;
}

void Stitcher::SurveyChunk(const Chunk& chunk, Offer* offer) const {
  for (Address at = chunk.address; at < chunk.end();) {
    const BlockId id = memory_->blocks.At(at);
    const Block& block = memory_->blocks[id];
    const bool from_start = block.home == at;
    const bool to_end = block.end() <= chunk.end();
    const Piece piece{id, at - block.home, std::min(block.end(), chunk.end()) - block.home};
    if (from_start && to_end) offer->whole.push_back(piece);
    if (!from_start && to_end) offer->suffixes.push_back(piece);
    if (from_start && !to_end) offer->prefixes.push_back(piece);
    at = block.end();
  }
}

// Whole blocks largest first, ends smallest first; by address where equal.
void Stitcher::Sort(Offer* offer) const {
  const auto home = [this](const Piece& piece) { return memory_->blocks[piece.block].home; };
  const auto larger = [&](const Piece& a, const Piece& b) {
    return a.size() != b.size() ? b.size() < a.size() : home(a) < home(b);
  };
  const auto smaller = [&](const Piece& a, const Piece& b) {
    return a.size() != b.size() ? a.size() < b.size() : home(a) < home(b);
  };
  std::sort(offer->whole.begin(), offer->whole.end(), larger);
  std::sort(offer->suffixes.begin(), offer->suffixes.end(), smaller);
  std::sort(offer->prefixes.begin(), offer->prefixes.end(), smaller);
}

}  // namespace gmlake
