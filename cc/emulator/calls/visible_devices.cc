#include "cc/emulator/calls/visible_devices.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <sstream>

namespace gmlake::emulator {
namespace {

constexpr const char* kUuidPrefix = "GPU-";

// -1 if it is none, or could be several.
int ByUuid(const std::string& name, int installed) {
  int found = -1;
  for (int number = 0; number < installed; ++number) {
    if (UuidText(number).rfind(name, 0) != 0) continue;
    if (found >= 0) return -1;
    found = number;
  }
  return found;
}

int ByNumber(const std::string& name, int installed) {
  char* end = nullptr;
  const long number = std::strtol(name.c_str(), &end, 10);
  const bool is_number = end != name.c_str() && *end == '\0';
  return is_number && number >= 0 && number < installed ? static_cast<int>(number) : -1;
}

int DeviceNamed(const std::string& name, int installed) {
  return name.rfind(kUuidPrefix, 0) == 0 ? ByUuid(name, installed) : ByNumber(name, installed);
}

}  // namespace

std::string UuidText(int number) {
  char text[64];
  std::snprintf(text, sizeof text, "%s454d554c-4154-4544-0000-0000000000%02x", kUuidPrefix, number);
  return text;
}

std::vector<int> VisibleDevices(const char* list, int installed) {
  std::vector<int> visible;
  if (list == nullptr) {
    visible.resize(installed);
    std::iota(visible.begin(), visible.end(), 0);
    return visible;
  }
  std::istringstream names(list);
  for (std::string name; std::getline(names, name, ',');) {
    const int number = DeviceNamed(name, installed);
    if (number < 0) break;
    if (std::find(visible.begin(), visible.end(), number) != visible.end()) return {};
    visible.push_back(number);
  }
  return visible;
}

}  // namespace gmlake::emulator
