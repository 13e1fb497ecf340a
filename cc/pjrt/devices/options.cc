#include "cc/pjrt/devices/options.h"

#include <algorithm>
#include <utility>

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

Status ValidateSeconds(double seconds, const char* what) {
  if (seconds >= 0 && seconds <= kMostSeconds) return OkStatus();
  return Malformed(std::string(what) + " of " + std::to_string(seconds) + " seconds", "seconds, from 0 to 1,000,000");
}

}  // namespace

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
  if (wishes.memory_fraction.has_value() && options.limit_kind == GMLAKE_LIMIT_DEFAULT) {
    adapted.limit_kind = GMLAKE_LIMIT_FRACTION;
    adapted.fraction = *wishes.memory_fraction;
  }
  const Status valid = Validate(adapted);
  if (!valid.ok()) return valid;
  return adapted;
}

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
  options.preallocate_is_given = true;
  options.verbose = given->verbose != 0;
  options.idle_trim_s = given->idle_trim_s;
  options.wait_s = given->wait_s;
  options.interruptible = given->interruptible != 0;
  if (given->record_path != nullptr) options.record_path = given->record_path;
  if (given->record_events > 0) options.record_events = given->record_events;
  if (given->oom_folder != nullptr) options.oom_folder = given->oom_folder;
  const Status valid = Validate(options);
  if (!valid.ok()) return valid;
  return options;
}

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
