// What the host asked for when it installed us. The options come through the C door (Python reads the user's variables),
// or, where a host loads this library as a plain PJRT plugin and nobody speaks for it, from the environment.
//
// The only file of the C++ that reads environment variables.
#ifndef GMLAKE_PJRT_OPTIONS_H_
#define GMLAKE_PJRT_OPTIONS_H_

#include <string>

#include "cc/base/bytes.h"
#include "cc/base/status.h"
#include "cc/pjrt/c_api.h"

namespace gmlake {

struct Options {
  std::string driver_path;  // empty: the system's libcuda.so.1
  GmlakeLimitKind limit_kind = GMLAKE_LIMIT_DEFAULT;
  Bytes limit;
  double fraction = 0;
  bool preallocate = false;
  bool verbose = false;
};

// Null means all defaults. kInvalidArgument for a value that cannot be followed.
StatusOr<Options> OptionsFrom(const GmlakeOptions* given);

// GMLAKE_LIMIT (20GiB, 21474836480 or 80%), GMLAKE_PREALLOCATE, GMLAKE_VERBOSE, GMLAKE_DRIVER.
StatusOr<Options> OptionsFromEnvironment();
// GMLAKE_STOCK_PLUGIN; empty where it is not set.
std::string StockPluginFromEnvironment();

// Physical bytes that a device of `total` bytes may hold. The default leaves a reserve for what does not come from us:
// contexts, kernels, the workspaces of cuBLAS, cuDNN and NCCL, XLA's collective memory. It is a twentieth of the device,
// at least 1 GiB, at most a quarter.
StatusOr<Bytes> ResolveLimit(const Options& options, Bytes total);

}  // namespace gmlake

#endif  // GMLAKE_PJRT_OPTIONS_H_
