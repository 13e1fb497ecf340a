#include "cc/core/growth_policy.h"

#include <algorithm>

namespace gmlake {
namespace {

constexpr int64_t kSlackDivisor = 64;      // grow to save a stitch while held bytes stay within 1/64 of the peak
constexpr int64_t kPeakPerBlock = 128;     // a block is at most this fraction of the peak
constexpr int64_t kHeadroomPerBlock = 32;  // and at most this fraction of what the limit still allows
constexpr Bytes kLargestBlock = MiB(64);

// Whole granules, though the limit need not be one of them.
Bytes Headroom(const GrowthInput& input) { return AlignDown(input.limit, input.granularity) - input.reserved; }

}  // namespace

Bytes GrowthAllowance(const GrowthInput& input) {
  const Bytes wanted = input.peak + input.peak / kSlackDivisor - input.reserved;
  return std::max(Bytes(0), std::min(wanted, Headroom(input)));
}

Bytes LargestBlock(const GrowthInput& input) {
  const Bytes by_peak = input.peak / kPeakPerBlock;
  const Bytes by_headroom = Headroom(input) / kHeadroomPerBlock;
  const Bytes bound = std::min({by_peak, by_headroom, kLargestBlock});
  return bound <= input.granularity ? input.granularity : PowerOfTwoFloor(bound);
}

Bytes GrowthAmount(const GrowthInput& input, Bytes deficit) {
  const Bytes exact = AlignUp(deficit, input.granularity);
  const Bytes generous = AlignUp(deficit, LargestBlock(input));
  return generous <= GrowthAllowance(input) ? generous : exact;
}

std::vector<Bytes> BlockSizes(Bytes total, Bytes largest, Bytes granularity) {
  std::vector<Bytes> sizes;
  for (Bytes size = largest; total > Bytes(0); size = std::max(granularity, size / 2)) {
    for (; total >= size; total -= size) sizes.push_back(size);
  }
  return sizes;
}

}  // namespace gmlake
