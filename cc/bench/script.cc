#include "cc/bench/script.h"

#include <cmath>

namespace gmlake::bench {

Bytes Dice::Size(Bytes low, Bytes high) {
  const double octaves = std::log2(static_cast<double>(high.count()) / static_cast<double>(low.count()));
  return Bytes(static_cast<int64_t>(static_cast<double>(low.count()) * std::exp2(octaves * Share())));
}

}  // namespace gmlake::bench
