// Looks at the results of a program before its caller sees them.
//
// A call can succeed with results that are in error from the start. Where a refusal on this thread caused that, the
// results can be taken back and the program run again (retry_entries.h).
#ifndef GMLAKE_PJRT_OOM_EARLY_RESULTS_H_
#define GMLAKE_PJRT_OOM_EARLY_RESULTS_H_

#include <cstdint>
#include <string>

#include "cc/pjrt/plugin/plugin_client.h"
#include "xla/pjrt/c/pjrt_c_api.h"

namespace gmlake {

// Model: made before one call of Execute with `args`, asked after it. Invariant: nothing that the caller passed in is
// changed. Threads: the one that calls. Cost: two reads, unless an allocation failed meanwhile.
class EarlyResults {
 public:
  EarlyResults(const PluginClient& plugin, PJRT_LoadedExecutable_Execute_Args* args);

  // The text of their error; empty where there is none, or where it is too late to run the program again.
  std::string Failure() const;
  void TakeBack();

 private:
  // Empty where the buffer is not in error, or is not known to be yet.
  std::string ErrorOf(PJRT_Buffer* buffer) const;
  std::string ErrorOf(PJRT_Event* event) const;

  const PluginClient& plugin_;
  PJRT_LoadedExecutable_Execute_Args* const args_;
  const int64_t refused_before_;
};

}  // namespace gmlake

#endif  // GMLAKE_PJRT_OOM_EARLY_RESULTS_H_
