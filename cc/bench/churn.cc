#include "cc/bench/churn.h"

#include <algorithm>

#include "cc/bench/script.h"

namespace gmlake::bench {
namespace {

constexpr Bytes kUnit = MiB(2);
constexpr Bytes kLargest = GiB(4);
constexpr int64_t kPeriodUs = 200;

}  // namespace

std::vector<RawEvent> MakeChurn(const ChurnOptions& options) {
  const Bytes most(static_cast<int64_t>(static_cast<double>(options.limit.count()) * options.utilisation));
  Dice dice(options.seed);
  Script script(kPeriodUs);
  std::vector<int64_t> live;
  for (int i = 0; i < options.requests; ++i) {
    const Bytes size = std::min(AlignUp(dice.Size(kUnit, kLargest), kUnit), AlignDown(most, kUnit));
    while (script.live() + size > most) script.Free(dice.Draw(&live));
    live.push_back(script.Allocate(size));
  }
  return script.Finish();
}

}  // namespace gmlake::bench
