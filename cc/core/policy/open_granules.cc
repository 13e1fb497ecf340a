#include "cc/core/policy/open_granules.h"

#include <algorithm>

namespace gmlake {
namespace {

// What a tail may leave of a granule in the middle, where it is of no use to large requests: this fraction of it.
constexpr int64_t kGranulePerLeftover = 16;

}  // namespace

const Piece* SmallestFit(const std::vector<Piece>& sorted, Bytes size, BlockId but) {
  if (sorted.empty() || sorted.back().size() < size) return nullptr;  // mostly
  const auto is_smaller = [size](const Piece& piece) { return piece.size() < size; };
  auto fit = std::partition_point(sorted.begin(), sorted.end(), is_smaller);
  if (fit->block == but) ++fit;
  return fit == sorted.end() ? nullptr : &*fit;
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
  const Piece* tail = SmallestFit(prefixes_, rest, head.block);
  const bool ends_between = rest == Bytes(0);
  if (!ends_between && tail == nullptr) return;
  const Bytes left = ends_between ? Bytes(0) : tail->size() - rest;
  if (left >= *leftover) return;
  *leftover = left;
  *best = {head, ends_between ? kNoPiece : Piece{tail->block, Bytes(0), rest}};
}

Piece OpenGranules::HeadAlone(Bytes request) const {
  const Piece* head = SmallestFit(suffixes_, request % granularity_);
  return head == nullptr || head->size() > request ? kNoPiece : *head;
}

}  // namespace gmlake
