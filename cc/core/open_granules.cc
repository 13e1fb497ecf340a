#include "cc/core/open_granules.h"

#include <algorithm>

namespace gmlake {
namespace {

// What a tail may leave of a granule in the middle, where it is of no use to large requests: this fraction of it.
constexpr int64_t kGranulePerLeftover = 16;

}  // namespace

std::vector<Piece>::const_iterator SmallestFit(const std::vector<Piece>& sorted, Bytes size) {
  if (sorted.empty() || sorted.back().size() < size) return sorted.end();  // mostly
  return std::partition_point(sorted.begin(), sorted.end(), [size](const Piece& piece) { return piece.size() < size; });
}

Ends OpenGranules::Choose(Bytes request) const {
  if (request % granularity_ == Bytes(0)) return Ends();
  Ends best;
  Bytes leftover = granularity_ / kGranulePerLeftover + Bytes(1);
  TryHead(kNoPiece, request, &best, &leftover);
  for (const Piece& head : suffixes_) {
    if (head.size() <= request) TryHead(head, request, &best, &leftover);
  }
  if (best.size() == Bytes(0)) best.head = HeadAlone(request);
  return best;
}

void OpenGranules::TryHead(const Piece& head, Bytes request, Ends* best, Bytes* leftover) const {
  const Bytes rest = (request - head.size()) % granularity_;
  const Piece* tail = TailFor(rest, head.block);
  const bool ends_between = rest == Bytes(0);
  if (!ends_between && tail == nullptr) return;
  const Bytes left = ends_between ? Bytes(0) : tail->size() - rest;
  if (left >= *leftover) return;
  *leftover = left;
  *best = {head, ends_between ? kNoPiece : Piece{tail->block, Bytes(0), rest}};
}

Piece OpenGranules::HeadAlone(Bytes request) const {
  const auto head = SmallestFit(suffixes_, request % granularity_);
  return head == suffixes_.end() || head->size() > request ? kNoPiece : *head;
}

const Piece* OpenGranules::TailFor(Bytes size, BlockId head) const {
  auto tail = SmallestFit(prefixes_, size);
  if (tail != prefixes_.end() && tail->block == head) ++tail;  // no block twice in a range
  return tail == prefixes_.end() ? nullptr : &*tail;
}

}  // namespace gmlake
