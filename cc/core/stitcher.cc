#include "cc/core/stitcher.h"

#include <algorithm>

namespace gmlake {
namespace {

// A free end of a block may finish a stitch if it would leave at most this fraction of itself behind, cut off from
// both edges of its block.
constexpr int64_t kLeftoverDivisor = 4;

bool FewerLeft(const Piece& a, const Piece& b) { return a.size() < b.size(); }

// The smallest piece of at least `size`, or the end.
std::vector<Piece>::const_iterator Fit(const std::vector<Piece>& sorted, Bytes size) {
  return std::partition_point(sorted.begin(), sorted.end(),
                              [size](const Piece& piece) { return piece.size() < size; });
}

}  // namespace

// Builds a selection piece by piece. `need` is what is still to be found.
class StitchChoice {
 public:
  StitchChoice(const Stitcher::Offer& offer, Bytes request) : offer_(offer), need_(request) {}

  Selection Run() {
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

  bool FinishWithEnd(bool tight) {
    return FinishWithSuffix(tight) || FinishWithPrefix(tight);
  }

  bool FinishWithSuffix(bool tight) {
    const auto fit = Fit(offer_.suffixes, need_);
    if (fit == offer_.suffixes.end() || (tight && !IsTight(*fit))) return false;
    head_ = {fit->block, fit->to - need_, fit->to};
    need_ = Bytes(0);
    return true;
  }

  bool FinishWithPrefix(bool tight) {
    const auto fit = Fit(offer_.prefixes, need_);
    if (fit == offer_.prefixes.end() || (tight && !IsTight(*fit))) return false;
    tail_ = {fit->block, Bytes(0), need_};
    need_ = Bytes(0);
    return true;
  }

  bool IsTight(const Piece& end) const {
    return (end.size() - need_) * kLeftoverDivisor <= end.size();
  }

  bool FinishWithCut() {
    if (cut_ == nullptr) return false;
    tail_ = {cut_->block, Bytes(0), need_};
    need_ = Bytes(0);
    return true;
  }

  // No single piece is enough: the largest suffix goes first, and the best prefix for the rest goes last.
  void TakeBothEnds() {
    if (!offer_.suffixes.empty()) {
      head_ = offer_.suffixes.back();
      need_ -= head_.size();
    }
    if (offer_.prefixes.empty() || FinishWithPrefix(/*tight=*/false)) return;
    tail_ = offer_.prefixes.back();
    need_ -= tail_.size();
  }

  Selection Assemble() {
    Selection selection;
    std::sort(whole_.begin(), whole_.end(),
              [](const Piece& a, const Piece& b) { return a.block < b.block; });
    if (head_.block != kNone) selection.pieces.push_back(head_);
    selection.pieces.insert(selection.pieces.end(), whole_.begin(), whole_.end());
    if (tail_.block != kNone) selection.tail = tail_;
    selection.missing = need_;
    return selection;
  }

  const Stitcher::Offer& offer_;
  Bytes need_;
  Piece head_{kNone, Bytes(0), Bytes(0)};
  Piece tail_{kNone, Bytes(0), Bytes(0)};
  const Piece* cut_ = nullptr;
  std::vector<Piece> whole_;
};

Selection Stitcher::Choose(Bytes request) const {
  Offer offer = Survey();
  const BlockTable& blocks = memory_->blocks;
  std::stable_sort(offer.whole.begin(), offer.whole.end(), [&](const Piece& a, const Piece& b) {
    if (a.size() != b.size()) return b.size() < a.size();
    return blocks[a.block].home < blocks[b.block].home;
  });
  std::stable_sort(offer.suffixes.begin(), offer.suffixes.end(), FewerLeft);
  std::stable_sort(offer.prefixes.begin(), offer.prefixes.end(), FewerLeft);
  return StitchChoice(offer, request).Run();
}

StatusOr<Address> Stitcher::Execute(const std::vector<Mapping>& mappings, Transaction* transaction) {
  Bytes size(0);
  for (const Mapping& mapping : mappings) size += mapping.size;
  StatusOr<Address> base = transaction->Reserve(size);
  if (!base.ok()) return base.status();
  Address at = *base;
  for (const Mapping& mapping : mappings) {
    Status mapped = transaction->Map(at, mapping.size, mapping.handle);
    if (!mapped.ok()) return mapped;
    at = at + mapping.size;
  }
  Status access = transaction->SetAccess(*base, size);
  if (!access.ok()) return access;
  return *base;
}

Bytes Stitcher::Available() const {
  const Offer offer = Survey();
  Bytes total(0);
  for (const Piece& block : offer.whole) total += block.size();
  const auto longest = [](const std::vector<Piece>& ends) {
    const auto end = std::max_element(ends.begin(), ends.end(), FewerLeft);
    return end == ends.end() ? Bytes(0) : end->size();
  };
  return total + longest(offer.suffixes) + longest(offer.prefixes);
}

Stitcher::Offer Stitcher::Survey() const {
  Offer offer;
  memory_->space.bins().ForEachFromLargest(Bytes(0), [&](const FreeBins::Entry& entry) {
    SurveyChunk(memory_->chunks[entry.chunk], &offer);
  });
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

}  // namespace gmlake
