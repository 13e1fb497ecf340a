#include "cc/pjrt/install/environment.h"

#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <iterator>
#include <string>
#include <vector>

namespace gmlake {
namespace {

// Variables that are not in the table of options: what reads them is here, or is Python alone.
constexpr const char* kBesideTheTable[] = {"GMLAKE", "GMLAKE_STATS_FILE", "GMLAKE_STOCK_PLUGIN", "GMLAKE_TOP"};
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

std::string VariableOf(const OptionRow& row) {
  std::string name = std::string("GMLAKE_") + row.name;
  std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) { return std::toupper(c); });
  return name;
}

// A variable that is not set, or empty, leaves the option as it is.
Status ReadTable(Options* options) {
  for (const OptionRow& row : OptionTable()) {
    const std::string name = VariableOf(row);
    const std::string text = row.is_a_variable ? Variable(name.c_str()) : "";
    if (text.empty()) continue;
    GMLAKE_RETURN_IF_ERROR(row.read(name, text, options));
  }
  return OkStatus();
}

Status ReadEnabled(bool* enabled) {
  const std::string text = Variable("GMLAKE");
  return text.empty() ? OkStatus() : ReadFlag("GMLAKE", text, enabled);
}

bool StartsWith(const std::string& text, const char* prefix) { return text.rfind(prefix, 0) == 0; }

std::vector<std::string> KnownVariables() {
  std::vector<std::string> known(std::begin(kBesideTheTable), std::end(kBesideTheTable));
  for (const OptionRow& row : OptionTable()) {
    if (row.is_a_variable) known.push_back(VariableOf(row));
  }
  std::sort(known.begin(), known.end());
  return known;
}

bool IsOurs(const std::string& name) {
  const auto is_prefix = [&](const char* prefix) { return StartsWith(name, prefix); };
  return (name == "GMLAKE" || StartsWith(name, "GMLAKE_")) &&
         std::none_of(std::begin(kOtherPrefixes), std::end(kOtherPrefixes), is_prefix);
}

Status RejectUnknown() {
  const std::vector<std::string> known = KnownVariables();
  for (char** variable = environ; variable != nullptr && *variable != nullptr; ++variable) {
    const std::string text(*variable);
    const std::string name = text.substr(0, text.find('='));
    if (!IsOurs(name) || std::find(known.begin(), known.end(), name) != known.end()) continue;
    std::string names;
    for (const std::string& other : known) names += (names.empty() ? "" : ", ") + other;
    return Status(StatusCode::kInvalidArgument,
                  name + " is not a variable of gmlake_jax; unset it, or correct it to one of " + names);
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
  if (text.empty() || options->limit_kind != LimitKind::kDefault) return OkStatus();
  options->limit_kind = LimitKind::kFraction;
  options->fraction = ParseFraction(text);
  if (options->fraction > 0) return OkStatus();
  return Malformed((now.empty() ? "XLA_PYTHON_CLIENT_MEM_FRACTION=" : "XLA_CLIENT_MEM_FRACTION=") + text,
                   "a fraction above 0 and up to 1, such as 0.75, 0.75+ or 0.75-0.85");
}

// To be called before the table is read: our own variable comes first.
Status ReadXlaPreallocate(Options* options) {
  const std::string text = Variable("XLA_PYTHON_CLIENT_PREALLOCATE");
  if (text.empty()) return OkStatus();
  options->preallocate_is_given = true;
  options->preallocate = text != "false" && text != "False" && text != "0";
  return OkStatus();
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
  bool enabled = true;
  for (const Status& read :
       {RejectUnknown(), RejectOtherAllocator(), ReadEnabled(&enabled), ReadXlaPreallocate(&options),
        ReadTable(&options), ReadXlaFraction(&options), Validate(options)}) {
    if (!read.ok()) return read;
  }
  return options;
}

bool IsSwitchedOff() {
  bool enabled = true;
  return ReadEnabled(&enabled).ok() && !enabled;
}

std::string ReasonToStepAside() {
  const std::string unified = Variable("TF_FORCE_UNIFIED_MEMORY");
  if (unified.empty() || unified == "0" || Lower(unified) == "false") return "";
  return "TF_FORCE_UNIFIED_MEMORY=" + unified + " asks for unified memory, which gmlake_jax does not serve; unset it";
}

std::string StockPluginFromEnvironment() { return Variable("GMLAKE_STOCK_PLUGIN"); }

}  // namespace gmlake
