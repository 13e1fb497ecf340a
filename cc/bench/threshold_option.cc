#include "cc/bench/threshold_option.h"

#include <cstdlib>
#include <map>

namespace gmlake::bench {
namespace {

const std::map<std::string, int64_t Thresholds::*>& Counts() {
  static const auto* counts = new std::map<std::string, int64_t Thresholds::*>{
      {"peak_per_slack", &Thresholds::peak_per_slack},           {"peak_per_shared", &Thresholds::peak_per_shared},
      {"headroom_per_shared", &Thresholds::headroom_per_shared}, {"request_per_own", &Thresholds::request_per_own},
      {"headroom_per_own", &Thresholds::headroom_per_own},       {"limit_per_seams", &Thresholds::limit_per_seams},
      {"limit_per_near", &Thresholds::limit_per_near},           {"spare_per_seams", &Thresholds::spare_per_seams},
      {"seams_before_wait", &Thresholds::seams_before_wait},     {"end_per_leftover", &Thresholds::end_per_leftover}};
  return *counts;
}

const std::map<std::string, Bytes Thresholds::*>& Sizes() {
  static const auto* sizes = new std::map<std::string, Bytes Thresholds::*>{
      {"largest_shared", &Thresholds::largest_shared}, {"largest_own", &Thresholds::largest_own}};
  return *sizes;
}

}  // namespace

bool SetThreshold(const std::string& assignment, Thresholds* thresholds) {
  const size_t colon = assignment.find(':');
  if (colon == std::string::npos) return false;
  const std::string name = assignment.substr(0, colon);
  const int64_t value = std::atoll(assignment.c_str() + colon + 1);
  if (value <= 0) return false;
  const auto count = Counts().find(name);
  if (count != Counts().end()) return thresholds->*count->second = value, true;
  const auto size = Sizes().find(name);
  if (size != Sizes().end()) return thresholds->*size->second = Bytes(value), true;
  return false;
}

}  // namespace gmlake::bench
