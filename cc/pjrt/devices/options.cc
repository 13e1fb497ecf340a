#include "cc/pjrt/devices/options.h"

#include <algorithm>
#include <cctype>
#include <cstring>
#include <initializer_list>
#include <locale>
#include <sstream>

namespace gmlake {
namespace {

constexpr Bytes kSmallestLimit = MiB(2);
constexpr double kMostSeconds = 1e6;
constexpr int64_t kMostEvents = 100'000'000;  // 5.6 GB

Status Malformed(const std::string& what, const std::string& expected) {
  return Status(StatusCode::kInvalidArgument, what + ": expected " + expected);
}

Status ValidateLimit(const Options& options) {
  switch (options.limit_kind) {
    case LimitKind::kDefault: return OkStatus();
    case LimitKind::kBytes:
      if (options.limit >= kSmallestLimit) return OkStatus();
      return Malformed("a memory limit of " + ToString(options.limit), "at least " + ToString(kSmallestLimit));
    case LimitKind::kFraction:
      if (options.fraction > 0 && options.fraction <= 1) return OkStatus();
      return Malformed("a memory limit of " + std::to_string(options.fraction) + " of the device",
                       "a fraction above 0 and up to 1");
  }
  return OkStatus();
}

Status ValidateSeconds(double seconds, const char* what) {
  if (seconds >= 0 && seconds <= kMostSeconds) return OkStatus();
  return Malformed(std::string(what) + " of " + std::to_string(seconds) + " seconds", "seconds, from 0 to 1,000,000");
}

std::string Lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) { return std::tolower(c); });
  return text;
}

// The number that `text` begins with, and in `rest` what follows it. The program's locale has no effect. False: none.
template <typename Number>
bool SplitNumber(const std::string& text, Number* number, std::string* rest) {
  std::istringstream stream(text);
  stream.imbue(std::locale::classic());
  if (!(stream >> *number)) return false;
  rest->assign(std::istreambuf_iterator<char>(stream), {});
  return true;
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

Status Read(const std::string&, const std::string& text, std::string* path) {
  *path = text;
  return OkStatus();
}

Status Read(const std::string& shown_as, const std::string& text, bool* flag) { return ReadFlag(shown_as, text, flag); }

Status Read(const std::string& shown_as, const std::string& text, double* seconds) {
  std::string rest;
  if (SplitNumber(text, seconds, &rest) && rest.empty() && *seconds >= 0 && *seconds <= kMostSeconds) return OkStatus();
  return Malformed(shown_as + "=" + text, "seconds, from 0 to 1,000,000");
}

Status Read(const std::string& shown_as, const std::string& text, int64_t* count) {
  std::string rest;
  if (SplitNumber(text, count, &rest) && rest.empty() && *count >= 1) return OkStatus();
  return Malformed(shown_as + "=" + text, "a number of at least 1");
}

template <auto kField>
Status Into(const std::string& shown_as, const std::string& text, Options* options) {
  return Read(shown_as, text, &(options->*kField));
}

Status ReadPreallocate(const std::string& shown_as, const std::string& text, Options* options) {
  options->preallocate_is_given = true;
  return ReadFlag(shown_as, text, &options->preallocate);
}

// A share of the device. As a number (0.8) it crosses the C API without loss.
Status ReadFraction(const std::string& shown_as, const std::string& text, Options* options) {
  std::string rest;
  options->limit_kind = LimitKind::kFraction;
  if (SplitNumber(text, &options->fraction, &rest) && rest.empty()) return OkStatus();
  return Malformed(shown_as + "=" + text, "a fraction above 0 and up to 1");
}

Status ReadLimit(const std::string& shown_as, const std::string& text, Options* options) {
  double number = 0;
  std::string unit;
  const bool is_number = SplitNumber(text, &number, &unit);
  if (is_number && unit == "%") {
    options->limit_kind = LimitKind::kFraction;
    options->fraction = number / 100;
    return OkStatus();
  }
  const double factor = UnitFactor(unit);
  if (!is_number || factor == 0 || !(number >= 0 && number * factor < 9e18)) {
    return Malformed(shown_as + "=" + text, "bytes, a size (20GiB) or a share (80%)");
  }
  options->limit_kind = LimitKind::kBytes;
  options->limit = Bytes(static_cast<int64_t>(number * factor));
  return OkStatus();
}

Status ReadByName(const GmlakeOption& given, Options* options) {
  std::string known;
  for (const OptionRow& row : OptionTable()) {
    if (std::strcmp(row.name, given.name) == 0) return row.read(row.name, given.value, options);
    known += (known.empty() ? "" : ", ") + std::string(row.name);
  }
  return Status(StatusCode::kInvalidArgument,
                "libgmlake_pjrt.so has no option " + std::string(given.name) + "; its options are " + known);
}

}  // namespace

const std::vector<OptionRow>& OptionTable() {
  static const auto* const table = new std::vector<OptionRow>{
      {"driver", &Into<&Options::driver_path>},
      {"fraction", &ReadFraction, /*is_a_variable=*/false},
      {"idle_trim", &Into<&Options::idle_trim_s>},
      {"interruptible", &Into<&Options::interruptible>, /*is_a_variable=*/false},
      {"limit", &ReadLimit},
      {"oom_dir", &Into<&Options::oom_folder>},
      {"preallocate", &ReadPreallocate},
      {"record", &Into<&Options::record_path>},
      {"record_events", &Into<&Options::record_events>},
      {"verbose", &Into<&Options::verbose>},
      {"wait", &Into<&Options::wait_s>},
  };
  return *table;
}

Status ReadFlag(const std::string& shown_as, const std::string& text, bool* flag) {
  const std::string value = Lower(text);
  const auto is_one_of = [&value](std::initializer_list<const char*> words) {
    return std::any_of(words.begin(), words.end(), [&value](const char* word) { return value == word; });
  };
  *flag = is_one_of({"1", "true", "on", "yes"});
  if (*flag || is_one_of({"0", "false", "off", "no"})) return OkStatus();
  return Malformed(shown_as + "=" + value, "1 or 0");
}

Bytes DefaultReserve(Bytes total) { return std::min(GiB(1) + total / 32, total / 4); }

Status CheckRecordEvents(int64_t events) {
  if (events <= kMostEvents) return OkStatus();
  return Malformed("a recording of " + std::to_string(events) + " events",
                   "at most " + std::to_string(kMostEvents) + ", which take 5.6 GB of host memory");
}

Status Validate(const Options& options) {
  return FirstFailure({ValidateLimit(options), ValidateSeconds(options.idle_trim_s, "an idle trim"),
                       ValidateSeconds(options.wait_s, "a wait"), CheckRecordEvents(options.record_events)});
}

StatusOr<Options> Adapted(const Options& options, const ClientWishes& wishes) {
  Options adapted = options;
  if (wishes.preallocate.has_value() && !options.preallocate_is_given) adapted.preallocate = *wishes.preallocate;
  if (wishes.memory_fraction.has_value() && options.limit_kind == LimitKind::kDefault) {
    adapted.limit_kind = LimitKind::kFraction;
    adapted.fraction = *wishes.memory_fraction;
  }
  GMLAKE_RETURN_IF_ERROR(Validate(adapted));
  return adapted;
}

StatusOr<Options> OptionsFrom(const GmlakeOption* given, size_t count) {
  Options options;
  for (size_t i = 0; i < count; ++i) {
    GMLAKE_RETURN_IF_ERROR(ReadByName(given[i], &options));
  }
  GMLAKE_RETURN_IF_ERROR(Validate(options));
  return options;
}

StatusOr<Bytes> ResolveLimit(const Options& options, Bytes total) {
  if (options.limit_kind == LimitKind::kDefault) return total - DefaultReserve(total);
  if (options.limit_kind == LimitKind::kFraction) {
    return Bytes(static_cast<int64_t>(options.fraction * static_cast<double>(total.count())));
  }
  if (options.limit <= total) return options.limit;
  return Status(StatusCode::kInvalidArgument, "a memory limit of " + ToString(options.limit) +
                                                  " is more than the device has (" + ToString(total) + ")");
}

}  // namespace gmlake
