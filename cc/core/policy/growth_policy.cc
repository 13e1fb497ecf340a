#include "cc/core/policy/growth_policy.h"

#include <algorithm>

namespace gmlake {
namespace {

// Whole granules, though the limit need not be one of them.
Bytes Headroom(const GrowthInput& input) { return AlignDown(input.limit, input.granularity) - input.reserved; }

bool MayShare(const GrowthInput& input) { return input.seamed < input.limit / input.thresholds.limit_per_seams; }

}  // namespace

Bytes GrowthAllowance(const GrowthInput& input) {
  const Bytes wanted = input.peak + input.peak / input.thresholds.peak_per_slack - input.reserved;
  return std::max(Bytes(0), std::min(wanted, Headroom(input)));
}

Bytes LargestBlock(const GrowthInput& input) {
  const Thresholds& t = input.thresholds;
  const Bytes headroom = Headroom(input);
  const Bytes shared = std::min({input.peak / t.peak_per_shared, headroom / t.headroom_per_shared, t.largest_shared});
  const Bytes own = std::min({input.request / t.request_per_own, headroom / t.headroom_per_own, t.largest_own});
  const Bytes bound = std::max(shared, own);
  return bound <= input.granularity ? input.granularity : PowerOfTwoFloor(bound);
}

Bytes GrowthAmount(const GrowthInput& input, Bytes deficit) {
  const Bytes block = LargestBlock(input);
  const Bytes generous = AlignUp(deficit, block);
  const bool shares = MayShare(input) && input.request < block;
  return shares && generous <= GrowthAllowance(input) ? generous : deficit;
}

std::vector<Bytes> BlockSizes(Bytes total, Bytes largest, Bytes granularity) {
  const Bytes body = total < granularity ? Bytes(0) : AlignDown(total, granularity);
  std::vector<Bytes> sizes(static_cast<size_t>(body / largest), largest);
  if (body % largest != Bytes(0)) sizes.push_back(body % largest);
  if (body != total) sizes.push_back(granularity);
  return sizes;
}

}  // namespace gmlake
