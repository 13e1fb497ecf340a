#include "cc/core/growth_policy.h"

#include <algorithm>

namespace gmlake {
namespace {

constexpr int64_t kSlackDivisor = 64;  // grow to save a stitch while held bytes stay within 1/64 of the peak

// A block that small requests share is at most this much, this fraction of the peak, and of what the limit still allows.
constexpr Bytes kLargestShared = MiB(64);
constexpr int64_t kPeakPerShared = 128;
constexpr int64_t kHeadroomPerShared = 32;

// A block of a large request is at most this much, this fraction of the request, and of what the limit still allows.
constexpr Bytes kLargestOwn = MiB(128);
constexpr int64_t kRequestPerOwn = 8;
constexpr int64_t kHeadroomPerOwn = 8;

// Whole granules, though the limit need not be one of them.
Bytes Headroom(const GrowthInput& input) { return AlignDown(input.limit, input.granularity) - input.reserved; }

}  // namespace

Bytes GrowthAllowance(const GrowthInput& input) {
  const Bytes wanted = input.peak + input.peak / kSlackDivisor - input.reserved;
  return std::max(Bytes(0), std::min(wanted, Headroom(input)));
}

Bytes LargestBlock(const GrowthInput& input) {
  const Bytes headroom = Headroom(input);
  const Bytes shared = std::min({input.peak / kPeakPerShared, headroom / kHeadroomPerShared, kLargestShared});
  const Bytes own = std::min({input.request / kRequestPerOwn, headroom / kHeadroomPerOwn, kLargestOwn});
  const Bytes bound = std::max(shared, own);
  return bound <= input.granularity ? input.granularity : PowerOfTwoFloor(bound);
}

Bytes GrowthAmount(const GrowthInput& input, Bytes deficit) {
  const Bytes exact = AlignUp(deficit, input.granularity);
  const Bytes block = LargestBlock(input);
  const Bytes generous = AlignUp(deficit, block);
  return input.request < block && generous <= GrowthAllowance(input) ? generous : exact;
}

std::vector<Bytes> BlockSizes(Bytes total, Bytes largest, Bytes granularity) {
  std::vector<Bytes> sizes;
  for (Bytes size = largest; total > Bytes(0); size = std::max(granularity, size / 2)) {
    for (; total >= size; total -= size) sizes.push_back(size);
  }
  return sizes;
}

}  // namespace gmlake
