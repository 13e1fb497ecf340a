#include "cc/report/json.h"

#include <cstdio>

#include "cc/telemetry/stats_fields.h"

namespace gmlake {
namespace {

std::string Escape(unsigned char c) {
  if (c == '"') return "\\\"";
  if (c == '\\') return "\\\\";
  if (c >= 0x20) return std::string(1, static_cast<char>(c));
  char code[8];
  std::snprintf(code, sizeof code, "\\u%04x", c);
  return code;
}

std::string JsonOf(const WayStats& way) {
  JsonObject object;
  object.AddNumber("count", way.count);
  object.AddNumber("bytes", way.bytes.count());
  return object.Finish();
}

std::string JsonOf(const DriverCallStats& calls) {
  JsonObject object;
  for (const auto& field : kCallFields) object.AddNumber(field.name, calls.*field.member);
  object.Add("time_us", std::to_string(calls.time_us));
  return object.Finish();
}

}  // namespace

std::string JsonText(const std::string& text) {
  std::string quoted = "\"";
  for (unsigned char c : text) quoted += Escape(c);
  return quoted + "\"";
}

std::string JsonList(const std::vector<std::string>& texts) {
  std::string list;
  for (const std::string& text : texts) list += (list.empty() ? "" : ", ") + JsonText(text);
  return "[" + list + "]";
}

void JsonObject::Add(const std::string& name, const std::string& value) {
  members_ += (members_.empty() ? "" : ", ") + JsonText(name) + ": " + value;
}

std::string JsonOf(const AllocatorStats& stats) {
  JsonObject object;
  for (const auto& field : kSizeFields) object.AddNumber(field.name, (stats.*field.member).count());
  for (const auto& field : kCountFields) object.AddNumber(field.name, stats.*field.member);
  JsonObject ways;
  for (int way = 0; way < kNumWays; ++way) ways.Add(kWayNames[way], JsonOf(stats.by_way[way]));
  object.Add("ways", ways.Finish());
  object.Add("driver_calls", JsonOf(stats.driver_calls));
  return object.Finish();
}

}  // namespace gmlake
