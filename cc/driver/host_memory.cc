#include "cc/driver/host_memory.h"

#include <algorithm>
#include <fstream>
#include <limits>
#include <optional>

namespace gmlake {
namespace {

constexpr int64_t kUnlimited = std::numeric_limits<int64_t>::max();

// "MemAvailable:   1024 kB" of /proc/meminfo.
int64_t Machine(const std::string& root) {
  std::ifstream file(root + "/proc/meminfo");
  for (std::string line; std::getline(file, line);) {
    if (line.rfind("MemAvailable:", 0) == 0) return std::strtoll(line.c_str() + 13, nullptr, 10) * 1024;
  }
  return kUnlimited;
}

// A number alone in a file; nothing for "max" or where there is no such file.
std::optional<int64_t> Number(const std::string& path) {
  std::ifstream file(path);
  int64_t number = 0;
  if (file >> number) return number;
  return std::nullopt;
}

// Pages of files that the kernel drops before it runs out; they are counted as used.
int64_t Reclaimable(const std::string& stat_file, const std::string& key) {
  std::ifstream file(stat_file);
  std::string name;
  for (int64_t value = 0; file >> name >> value;) {
    if (name == key) return value;
  }
  return 0;
}

int64_t Room(std::optional<int64_t> limit, std::optional<int64_t> used, int64_t reclaimable) {
  if (!limit.has_value() || !used.has_value()) return kUnlimited;
  return std::max<int64_t>(*limit - *used + reclaimable, 0);
}

// Both versions of control groups, as a container sees its own.
int64_t Container(const std::string& root) {
  const std::string now = root + "/sys/fs/cgroup/memory.";
  const std::string old = root + "/sys/fs/cgroup/memory/memory.";
  return std::min(Room(Number(now + "max"), Number(now + "current"), Reclaimable(now + "stat", "inactive_file")),
                  Room(Number(old + "limit_in_bytes"), Number(old + "usage_in_bytes"),
                       Reclaimable(old + "stat", "total_inactive_file")));
}

}  // namespace

Bytes AvailableHostMemoryUnder(const std::string& root) { return Bytes(std::min(Machine(root), Container(root))); }

Bytes AvailableHostMemory() { return AvailableHostMemoryUnder(""); }

}  // namespace gmlake
