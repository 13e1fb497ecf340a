// Granules that leases leave open, and how a stitch fills them.
//
// A lease that ends inside a granule leaves the rest of it free: the granule is open. A large lease can begin or end
// with such a rest, but cannot have it in the middle. A stitch that opened a granule at each end would lose a granule
// per lease. So a stitch begins with all of one rest and ends in another that fits; or it fills one rest and opens one
// granule in its place. All functions here are pure.
#ifndef GMLAKE_CORE_POLICY_OPEN_GRANULES_H_
#define GMLAKE_CORE_POLICY_OPEN_GRANULES_H_

#include <vector>

#include "cc/base/bytes.h"
#include "cc/core/ranges/range_table.h"
#include "cc/core/tables/chunk.h"

namespace gmlake {

inline constexpr Piece kNoPiece{kNone, Bytes(0), Bytes(0)};

// What a stitch begins and ends with; either may be kNoPiece.
struct Ends {
  Piece head = kNoPiece;
  Piece tail = kNoPiece;

  Bytes size() const { return head.size() + tail.size(); }
};

// The smallest of `sorted` with at least so many bytes, or null. Not one of block `but`, of which there is one at the
// most, because no block is twice in a range.
const Piece* SmallestFit(const std::vector<Piece>& sorted, Bytes size, BlockId but = kNone);

// Model: the free ends (`suffixes`) and beginnings (`prefixes`) of granules in use, smallest first. Thread rule: the
// allocator's lock. Cost: a binary search for each suffix.
class OpenGranules {
 public:
  OpenGranules(std::vector<Piece> suffixes, std::vector<Piece> prefixes, Bytes granularity)
      : suffixes_(std::move(suffixes)), prefixes_(std::move(prefixes)), granularity_(granularity) {}

  // Ends for a stitch, between which whole granules lie; or only a head, in place of which a smaller rest will be left
  // in another granule; or none.
  Ends Choose(Bytes request) const;

 private:
  // Ends that leave less than `*leftover` of the tail's rest, which then tells how much.
  void TryHead(const Piece& head, Bytes request, Ends* best, Bytes* leftover) const;
  // The smallest rest with which the stitch takes a whole granule less.
  Piece HeadAlone(Bytes request) const;

  const std::vector<Piece> suffixes_;
  const std::vector<Piece> prefixes_;
  const Bytes granularity_;
};

}  // namespace gmlake

#endif  // GMLAKE_CORE_POLICY_OPEN_GRANULES_H_
