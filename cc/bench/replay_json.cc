#include "cc/bench/replay_json.h"

#include <cstdio>
#include <optional>

namespace gmlake::bench {
namespace {

std::string Quote(const std::string& text) {
  std::string quoted = "\"";
  for (const char c : text) {
    char escaped[8];
    if (static_cast<unsigned char>(c) < 0x20) {
      std::snprintf(escaped, sizeof(escaped), "\\u%04x", c);
      quoted += escaped;
      continue;
    }
    if (c == '"' || c == '\\') quoted += '\\';
    quoted += c;
  }
  return quoted + "\"";
}

std::string Number(double value) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.1f", value);
  return text;
}

std::string Count(int64_t value) { return std::to_string(value); }

std::string Count(std::optional<Bytes> size) { return size ? Count(size->count()) : "null"; }

std::string Calls(const DriverCallStats& calls) {
  return "{\"create\": " + Count(calls.create) + ", \"map\": " + Count(calls.map) +
         ", \"set_access\": " + Count(calls.set_access) + ", \"unmap\": " + Count(calls.unmap) +
         ", \"release\": " + Count(calls.release) + ", \"reserve\": " + Count(calls.reserve) + "}";
}

std::string Passes(const ReplayResult& result) {
  std::string text = ", \"first_pass_driver_time_us\": " + Number(result.passes.front().time_us) +
                     ", \"last_pass_driver_time_us\": " + Number(result.passes.back().time_us) + ", \"passes\": [";
  for (const DriverCallStats& pass : result.passes) {
    if (&pass != &result.passes.front()) text += ", ";
    text += "{\"driver_calls\": " + Calls(pass) + ", \"driver_time_us\": " + Number(pass.time_us) + "}";
  }
  return text + "]";
}

}  // namespace

std::string ToJson(const ReplayResult& result) {
  std::string text = "{\"trace\": " + Quote(result.trace) + ", \"policy\": " + Quote(result.policy) +
                     ", \"events\": " + Count(result.events) + ", \"duration_us\": " + Count(result.duration_us) +
                     ", \"peak_live_bytes\": " + Count(result.peak_live.count()) +
                     ", \"peak_reserved_bytes\": " + Count(result.peak_reserved.count()) +
                     ", \"limit_bytes\": " + Count(result.limit) + ", \"min_limit_bytes\": " + Count(result.min_limit) +
                     ", \"failures\": " + Count(result.failures) +
                     ", \"ns_per_op\": " + (result.ns_per_op ? Number(*result.ns_per_op) : "null") +
                     ", \"driver_calls\": " + Calls(result.total) +
                     ", \"driver_time_us\": " + Number(result.total.time_us);
  if (result.passes.size() > 1) text += Passes(result);
  return text + "}";
}

}  // namespace gmlake::bench
