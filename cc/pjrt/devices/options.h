// The options of an installation. Python reads the user's variables and passes them through the C API. A host that
// loads this library as a plain PJRT plugin sets none, so they are read from the environment (environment.h). The
// options of a PJRT client may add to them.
#ifndef GMLAKE_PJRT_DEVICES_OPTIONS_H_
#define GMLAKE_PJRT_DEVICES_OPTIONS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cc/base/bytes.h"
#include "cc/base/status.h"
#include "cc/pjrt/abi/c_api.h"

namespace gmlake {

// How the memory limit of each device is given.
enum class LimitKind {
  kDefault,   // all of the device but a reserve
  kBytes,     // `limit`
  kFraction,  // `fraction` of the device's total
};

struct Options {
  std::string driver_path;  // empty: the system's libcuda.so.1
  LimitKind limit_kind = LimitKind::kDefault;
  Bytes limit;
  double fraction = 0;
  bool preallocate = false;
  bool preallocate_is_given = false;  // a client's own wish does not change it
  bool verbose = false;
  double idle_trim_s = 0;      // seconds without requests after which idle memory is given back; 0: never
  double wait_s = 0;           // seconds that a request waits for a device which others have filled
  bool interruptible = false;  // SIGINT ends such a wait (interrupts.h)
  std::string record_path;     // empty: no recording from the start
  int64_t record_events = 1'000'000;
  std::string oom_folder;  // empty: nowhere
};

// An option as the user writes it. A new option is a field of Options and a row of the table in options.cc.
struct OptionRow {
  const char* name;  // in gmlake_jax/config.py; in the environment in capitals, behind GMLAKE_
  // Reads `text` into the option's field. `shown_as`: what an error calls the option.
  Status (*read)(const std::string& shown_as, const std::string& text, Options* options);
  bool is_a_variable = true;  // false: only the C API has it
};
const std::vector<OptionRow>& OptionTable();

// Options that are not given keep their defaults. kInvalidArgument, with one line, for an unknown name and for a value
// that cannot be followed.
StatusOr<Options> OptionsFrom(const GmlakeOption* given, size_t count);
// "1" or "0" and what means the same, in any case.
Status ReadFlag(const std::string& shown_as, const std::string& text, bool* flag);
// kInvalidArgument, with a line that names it, for the first value that cannot be followed.
Status Validate(const Options& options);

// kInvalidArgument if a recording cannot keep so many events: the ring for them is made at once.
Status CheckRecordEvents(int64_t events);

// What a PJRT client asks of XLA's allocator by its create options.
struct ClientWishes {
  std::optional<double> memory_fraction;
  std::optional<bool> preallocate;
};

// The options with the client's wishes in place of our defaults; what was given to us stays.
StatusOr<Options> Adapted(const Options& options, const ClientWishes& wishes);

// What a device of `total` bytes needs for what does not come from us: contexts, kernels, the workspaces of cuBLAS,
// cuDNN and NCCL, XLA's collective memory. 1 GiB and a thirty-second, at most a quarter: about twice what
// benchmarks/outside_memory.py found on the largest device measured (2.3 GB of 150, 0.9 of these for NCCL;
// docs/results/limits.jsonl).
Bytes DefaultReserve(Bytes total);

// Physical bytes that the device may hold; by default all but the reserve.
StatusOr<Bytes> ResolveLimit(const Options& options, Bytes total);

}  // namespace gmlake

#endif  // GMLAKE_PJRT_DEVICES_OPTIONS_H_
