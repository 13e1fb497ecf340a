#include "cc/pjrt/install/environment.h"

#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <initializer_list>
#include <iterator>

namespace gmlake {
namespace {

constexpr double kMostSeconds = 1e6;

// Those of gmlake_jax/config.py. What Python alone does (statistics at the end, gmlake top) has no effect here.
constexpr const char* kKnown[] = {
    "GMLAKE",
    "GMLAKE_DRIVER",
    "GMLAKE_IDLE_TRIM",
    "GMLAKE_LIMIT",
    "GMLAKE_OOM_DIR",
    "GMLAKE_PREALLOCATE",
    "GMLAKE_RECORD",
    "GMLAKE_RECORD_EVENTS",
    "GMLAKE_STATS_FILE",
    "GMLAKE_STOCK_PLUGIN",
    "GMLAKE_TOP",
    "GMLAKE_VERBOSE",
    "GMLAKE_WAIT",
};
constexpr const char* kOtherPrefixes[] = {"GMLAKE_BUILD_", "GMLAKE_EMULATOR_", "GMLAKE_TEST_"};

Status Malformed(const std::string& what, const std::string& expected) {
  return Status(StatusCode::kInvalidArgument, what + ": expected " + expected);
}

std::string Lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) { return std::tolower(c); });
  return text;
}

std::string Variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

// A variable that is not set leaves the flag as it is.
Status ReadFlag(const char* name, bool* flag) {
  const std::string value = Lower(Variable(name));
  if (value.empty()) return OkStatus();
  const auto is_one_of = [&value](std::initializer_list<const char*> words) {
    return std::any_of(words.begin(), words.end(), [&value](const char* word) { return value == word; });
  };
  *flag = is_one_of({"1", "true", "on", "yes"});
  if (*flag || is_one_of({"0", "false", "off", "no"})) return OkStatus();
  return Malformed(std::string(name) + "=" + value, "1 or 0");
}

// Bytes in one of `unit` ("GiB", "gb", "b", ""); 0 if there is no such unit.
double UnitFactor(const std::string& any_case) {
  const std::string unit = Lower(any_case);
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
  if (unit == "%" && end != text.c_str()) {
    options->limit_kind = GMLAKE_LIMIT_FRACTION;
    options->fraction = number / 100;
    return OkStatus();
  }
  const double factor = UnitFactor(unit);
  if (end == text.c_str() || factor == 0 || !(number >= 0 && number * factor < 9e18)) {
    return Malformed("GMLAKE_LIMIT=" + text, "bytes, a size (20GiB) or a share (80%)");
  }
  options->limit_kind = GMLAKE_LIMIT_BYTES;
  options->limit = Bytes(static_cast<int64_t>(number * factor));
  return OkStatus();
}

Status ReadSeconds(const char* name, double* seconds) {
  const std::string text = Variable(name);
  if (text.empty()) return OkStatus();
  char* end = nullptr;
  *seconds = std::strtod(text.c_str(), &end);
  if (*end == '\0' && *seconds >= 0 && *seconds <= kMostSeconds) return OkStatus();
  return Malformed(std::string(name) + "=" + text, "seconds, from 0 to 1,000,000");
}

Status ReadCount(const char* name, int64_t* count) {
  const std::string text = Variable(name);
  if (text.empty()) return OkStatus();
  char* end = nullptr;
  errno = 0;
  *count = std::strtoll(text.c_str(), &end, 10);
  if (*end == '\0' && errno == 0 && *count >= 1) return OkStatus();
  return Malformed(std::string(name) + "=" + text, "a number of at least 1");
}

bool StartsWith(const std::string& text, const char* prefix) { return text.rfind(prefix, 0) == 0; }

bool IsKnown(const std::string& name) {
  const auto is_name = [&](const char* known) { return name == known; };
  const auto is_prefix = [&](const char* prefix) { return StartsWith(name, prefix); };
  return std::any_of(std::begin(kKnown), std::end(kKnown), is_name) ||
         std::any_of(std::begin(kOtherPrefixes), std::end(kOtherPrefixes), is_prefix);
}

Status RejectUnknown() {
  for (char** variable = environ; variable != nullptr && *variable != nullptr; ++variable) {
    const std::string text(*variable);
    const std::string name = text.substr(0, text.find('='));
    if ((name != "GMLAKE" && !StartsWith(name, "GMLAKE_")) || IsKnown(name)) continue;
    std::string known;
    for (const char* other : kKnown) known += (known.empty() ? "" : ", ") + std::string(other);
    return Status(StatusCode::kInvalidArgument,
                  name + " is not a variable of gmlake_jax; unset it, or correct it to one of " + known);
  }
  return OkStatus();
}

// XLA's grammar: `0.75` is the share, `0.75+` may grow to the whole device, `0.75-0.85` may grow to the second. 0 if
// the text is none of these.
double ParseFraction(const std::string& text) {
  char* end = nullptr;
  const double lower = std::strtod(text.c_str(), &end);
  if (end == text.c_str() || !(lower > 0)) return 0;
  double upper = lower;
  if (*end == '+') {
    upper = 1;
    ++end;
  } else if (*end == '-') {
    upper = std::strtod(end + 1, &end);
  }
  return *end == '\0' && upper >= lower && upper <= 1 ? upper : 0;
}

Status ReadXlaFraction(Options* options) {
  const std::string now = Variable("XLA_CLIENT_MEM_FRACTION");
  const std::string old = Variable("XLA_PYTHON_CLIENT_MEM_FRACTION");
  if (!now.empty() && !old.empty()) {
    return Status(StatusCode::kInvalidArgument,
                  "XLA_CLIENT_MEM_FRACTION and XLA_PYTHON_CLIENT_MEM_FRACTION are both set and mean the same; unset "
                  "XLA_PYTHON_CLIENT_MEM_FRACTION, the old name");
  }
  const std::string& text = now.empty() ? old : now;
  if (text.empty() || options->limit_kind != GMLAKE_LIMIT_DEFAULT) return OkStatus();
  options->limit_kind = GMLAKE_LIMIT_FRACTION;
  options->fraction = ParseFraction(text);
  if (options->fraction > 0) return OkStatus();
  return Malformed((now.empty() ? "XLA_PYTHON_CLIENT_MEM_FRACTION=" : "XLA_CLIENT_MEM_FRACTION=") + text,
                   "a fraction above 0 and up to 1, such as 0.75, 0.75+ or 0.75-0.85");
}

Status ReadPreallocate(Options* options) {
  const std::string of_xla = Variable("XLA_PYTHON_CLIENT_PREALLOCATE");
  options->preallocate_is_given = !of_xla.empty() || !Variable("GMLAKE_PREALLOCATE").empty();
  if (!of_xla.empty()) options->preallocate = of_xla != "false" && of_xla != "False" && of_xla != "0";
  return ReadFlag("GMLAKE_PREALLOCATE", &options->preallocate);
}

Status RejectOtherAllocator() {
  const std::string allocator = Lower(Variable("XLA_PYTHON_CLIENT_ALLOCATOR"));
  if (allocator.empty() || allocator == "default") return OkStatus();
  return Status(StatusCode::kInvalidArgument,
                "XLA_PYTHON_CLIENT_ALLOCATOR=" + allocator +
                    " asks for another allocator than gmlake_jax; unset it, or set GMLAKE=0");
}

}  // namespace

StatusOr<Options> OptionsFromEnvironment() {
  Options options;
  options.driver_path = Variable("GMLAKE_DRIVER");
  options.record_path = Variable("GMLAKE_RECORD");
  options.oom_folder = Variable("GMLAKE_OOM_DIR");
  bool enabled = true;
  for (const Status& read :
       {RejectUnknown(), RejectOtherAllocator(), ReadFlag("GMLAKE", &enabled),
        ReadLimit(Variable("GMLAKE_LIMIT"), &options), ReadXlaFraction(&options), ReadPreallocate(&options),
        ReadFlag("GMLAKE_VERBOSE", &options.verbose), ReadSeconds("GMLAKE_IDLE_TRIM", &options.idle_trim_s),
        ReadSeconds("GMLAKE_WAIT", &options.wait_s), ReadCount("GMLAKE_RECORD_EVENTS", &options.record_events),
        Validate(options)}) {
    if (!read.ok()) return read;
  }
  return options;
}

bool IsSwitchedOff() {
  bool enabled = true;
  return ReadFlag("GMLAKE", &enabled).ok() && !enabled;
}

std::string ReasonToStepAside() {
  const std::string unified = Variable("TF_FORCE_UNIFIED_MEMORY");
  if (unified.empty() || unified == "0" || Lower(unified) == "false") return "";
  return "TF_FORCE_UNIFIED_MEMORY=" + unified + " asks for unified memory, which gmlake_jax does not serve; unset it";
}

std::string StockPluginFromEnvironment() { return Variable("GMLAKE_STOCK_PLUGIN"); }

}  // namespace gmlake
