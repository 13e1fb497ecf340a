#include "cc/base/bytes.h"

#include <cmath>
#include <cstdio>

namespace gmlake {

std::string ToString(Bytes size) {
  static constexpr const char* kUnits[] = {"KiB", "MiB", "GiB", "TiB"};
  const bool negative = size.count() < 0;
  double value = std::abs(static_cast<double>(size.count()));  // the least number has no opposite as an integer
  char text[32];
  if (value < 1024) {
    std::snprintf(text, sizeof(text), "%s%.0f B", negative ? "-" : "", value);
    return text;
  }
  int unit = -1;
  while (value >= 1023.95 && unit < 3) {
    value /= 1024;
    ++unit;
  }
  std::snprintf(text, sizeof(text), "%s%.1f %s", negative ? "-" : "", value, kUnits[unit]);
  return text;
}

}  // namespace gmlake
