#include "cc/pjrt/options.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <cstring>
#include <utility>

namespace gmlake {
namespace {

constexpr Bytes kSmallestLimit = MiB(2);

Status Malformed(const std::string& what, const std::string& expected) {
  return Status(StatusCode::kInvalidArgument, what + ": expected " + expected);
}

std::string Variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

// A variable that is not set leaves the flag as it is.
Status ReadFlag(const char* name, bool* flag) {
  std::string value = Variable(name);
  if (value.empty()) return OkStatus();
  std::transform(value.begin(), value.end(), value.begin(), [](unsigned char c) { return std::tolower(c); });
  const auto is_one_of = [&value](std::initializer_list<const char*> words) {
    return std::any_of(words.begin(), words.end(), [&value](const char* word) { return value == word; });
  };
  *flag = is_one_of({"1", "true", "on", "yes"});
  if (*flag || is_one_of({"0", "false", "off", "no"})) return OkStatus();
  return Malformed(std::string(name) + "=" + value, "1 or 0");
}

// Bytes in one of `unit` ("GiB", "gb", "b", ""); 0 if there is no such unit.
double UnitFactor(std::string unit) {
  std::transform(unit.begin(), unit.end(), unit.begin(), [](unsigned char c) { return std::tolower(c); });
  if (unit.empty() || unit == "b") return 1;
  const char* const prefixes = "kmgt";
  const char* prefix = std::strchr(prefixes, unit[0]);
  const std::string rest = unit.substr(1);
  if (prefix == nullptr || (rest != "ib" && rest != "b")) return 0;
  double factor = 1;
  for (const char* p = prefixes; p <= prefix; ++p) factor *= rest == "ib" ? 1024 : 1000;
  return factor;
}

Status ReadLimit(const std::string& text, Options* options) {
  if (text.empty()) return OkStatus();
  char* end = nullptr;
  const double number = std::strtod(text.c_str(), &end);
  const std::string unit(end);
  if (unit == "%") {
    options->limit_kind = GMLAKE_LIMIT_FRACTION;
    options->fraction = number / 100;
    return OkStatus();
  }
  const double factor = UnitFactor(unit);
  if (end == text.c_str() || factor == 0 || !(number * factor < 9e18)) {
    return Malformed("GMLAKE_LIMIT=" + text, "bytes, a size (20GiB) or a share (80%)");
  }
  options->limit_kind = GMLAKE_LIMIT_BYTES;
  options->limit = Bytes(static_cast<int64_t>(number * factor));
  return OkStatus();
}

Status Validate(const Options& options) {
  switch (options.limit_kind) {
    case GMLAKE_LIMIT_DEFAULT: return OkStatus();
    case GMLAKE_LIMIT_BYTES:
      if (options.limit >= kSmallestLimit) return OkStatus();
      return Malformed("a memory limit of " + ToString(options.limit), "at least " + ToString(kSmallestLimit));
    case GMLAKE_LIMIT_FRACTION:
      if (options.fraction > 0 && options.fraction <= 1) return OkStatus();
      return Malformed("a memory limit of " + std::to_string(options.fraction) + " of the device",
                       "a fraction above 0 and up to 1");
  }
  return Malformed("limit kind " + std::to_string(options.limit_kind), "default, bytes or fraction");
}

constexpr double kLongest = 1e6;  // seconds

Status ReadSeconds(const char* name, double* seconds) {
  const std::string text = Variable(name);
  if (text.empty()) return OkStatus();
  char* end = nullptr;
  *seconds = std::strtod(text.c_str(), &end);
  if (*end == '\0' && *seconds >= 0 && *seconds <= kLongest) return OkStatus();
  return Malformed(std::string(name) + "=" + text, "seconds, 0 or more");
}

}  // namespace

Bytes DefaultReserve(Bytes total) { return std::min(GiB(1) + total / 32, total / 4); }

StatusOr<Options> OptionsFrom(const GmlakeOptions* given) {
  if (given == nullptr) return Options();
  if (given->struct_size != sizeof(GmlakeOptions)) {
    return Status(StatusCode::kInvalidArgument,
                  "libgmlake_pjrt.so and its caller come from different versions; reinstall gmlake-jax");
  }
  Options options;
  if (given->driver_path != nullptr) options.driver_path = given->driver_path;
  options.limit_kind = static_cast<GmlakeLimitKind>(given->limit_kind);
  options.limit = Bytes(given->limit_bytes);
  options.fraction = given->limit_fraction;
  options.preallocate = given->preallocate != 0;
  options.verbose = given->verbose != 0;
  options.stitch_ahead = given->stitch_ahead != 0;
  options.idle_trim_s = given->idle_trim_s;
  options.wait_s = given->wait_s;
  if (given->record_path != nullptr) options.record_path = given->record_path;
  if (given->record_events > 0) options.record_events = given->record_events;
  if (given->oom_folder != nullptr) options.oom_folder = given->oom_folder;
  const Status valid = Validate(options);
  if (!valid.ok()) return valid;
  return options;
}

StatusOr<Options> OptionsFromEnvironment() {
  Options options;
  options.driver_path = Variable("GMLAKE_DRIVER");
  options.record_path = Variable("GMLAKE_RECORD");
  options.oom_folder = Variable("GMLAKE_OOM_DIR");
  for (Status read :
       {ReadLimit(Variable("GMLAKE_LIMIT"), &options), ReadFlag("GMLAKE_PREALLOCATE", &options.preallocate),
        ReadFlag("GMLAKE_VERBOSE", &options.verbose), ReadFlag("GMLAKE_STITCH_AHEAD", &options.stitch_ahead),
        ReadSeconds("GMLAKE_IDLE_TRIM", &options.idle_trim_s), ReadSeconds("GMLAKE_WAIT", &options.wait_s),
        Validate(options)}) {
    if (!read.ok()) return read;
  }
  return options;
}

std::string StockPluginFromEnvironment() { return Variable("GMLAKE_STOCK_PLUGIN"); }

StatusOr<Bytes> ResolveLimit(const Options& options, Bytes total) {
  if (options.limit_kind == GMLAKE_LIMIT_DEFAULT) return total - DefaultReserve(total);
  if (options.limit_kind == GMLAKE_LIMIT_FRACTION) {
    return Bytes(static_cast<int64_t>(options.fraction * static_cast<double>(total.count())));
  }
  if (options.limit <= total) return options.limit;
  return Status(StatusCode::kInvalidArgument, "a memory limit of " + ToString(options.limit) +
                                                  " is more than the device has (" + ToString(total) + ")");
}

}  // namespace gmlake
