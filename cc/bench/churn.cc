#include "cc/bench/churn.h"

#include <algorithm>
#include <cmath>
#include <random>

namespace gmlake::bench {
namespace {

constexpr Bytes kUnit = MiB(2);
constexpr double kOctaves = 11;  // 2 MiB to 4 GiB
constexpr int64_t kPeriodUs = 200;

struct Live {
  int64_t id;
  Bytes size;
};

// The generator is the standard's; what is made of its bits is spelled out here, so that a seed means the same
// everywhere.
class Dice {
 public:
  explicit Dice(uint64_t seed) : bits_(seed) {}
  double Share() { return static_cast<double>(bits_() >> 11) * 0x1p-53; }
  size_t Below(size_t bound) { return bits_() % bound; }

 private:
  std::mt19937_64 bits_;
};

Bytes RandomSize(Dice* dice) {
  const double size = static_cast<double>(kUnit.count()) * std::exp2(kOctaves * dice->Share());
  return AlignUp(Bytes(static_cast<int64_t>(size)), kUnit);
}

}  // namespace

std::vector<RawEvent> MakeChurn(const ChurnOptions& options) {
  const Bytes most(static_cast<int64_t>(static_cast<double>(options.limit.count()) * options.utilisation));
  Dice dice(options.seed);
  std::vector<RawEvent> events;
  std::vector<Live> live;
  Bytes used;
  for (int64_t id = 0; id < options.requests; ++id) {
    const Bytes size = std::min(RandomSize(&dice), AlignDown(most, kUnit));
    while (used + size > most) {
      std::swap(live[dice.Below(live.size())], live.back());
      events.push_back({1, live.back().id, live.back().size.count(), 0, id * kPeriodUs});
      used -= live.back().size;
      live.pop_back();
    }
    events.push_back({0, id, size.count(), 0, id * kPeriodUs});
    live.push_back({id, size});
    used += size;
  }
  return events;
}

}  // namespace gmlake::bench
