// The little JSON that our files need: objects whose members are written one after the other.
#ifndef GMLAKE_REPORT_JSON_H_
#define GMLAKE_REPORT_JSON_H_

#include <cstdint>
#include <string>
#include <vector>

#include "cc/telemetry/stats.h"

namespace gmlake {

// With quotes; whatever is not plain ASCII text is escaped or passed on as UTF-8.
std::string JsonText(const std::string& text);
std::string JsonList(const std::vector<std::string>& texts);

// An object under construction.
class JsonObject {
 public:
  void AddText(const std::string& name, const std::string& value) { Add(name, JsonText(value)); }
  void AddNumber(const std::string& name, int64_t value) { Add(name, std::to_string(value)); }
  // `value` is JSON already.
  void Add(const std::string& name, const std::string& value);
  std::string Finish() const { return "{" + members_ + "}"; }

 private:
  std::string members_;
};

// Every number of `stats`, under its name in docs/stats.md.
std::string JsonOf(const AllocatorStats& stats);

}  // namespace gmlake

#endif  // GMLAKE_REPORT_JSON_H_
