// Retries allocations of the plugin outside our pool (collective memory, modules, graphs, plain device memory). Where
// the device has no room for one, our idle memory is trimmed and the driver is asked once more.
//
// Allocations of other libraries (NCCL, cuBLAS, another framework) do not come this way; trim_policy.h makes room for
// them.
#ifndef GMLAKE_PJRT_HOOK_TRIM_AND_RETRY_H_
#define GMLAKE_PJRT_HOOK_TRIM_AND_RETRY_H_

#include <functional>
#include <string>

namespace gmlake {

// What to call before asking again. To be set before the first look-up.
void SetTrim(std::function<void()> give_back);

// Whether `name` is one of those functions.
bool IsRetried(const char* name);
// The function to answer a look-up of `name` with, where it is one of those; else null. `drivers`: the driver's own.
void* RetriedFunction(const char* name, void* drivers);

// `call()` gives a CUresult as an int; again after giving back, if it was for want of memory.
template <typename Call>
int TrimAndRetry(Call call);

// Gives idle memory back if `result` tells of want of memory; whether it is worth asking again.
bool TrimIfOutOfMemory(int result);

template <typename Call>
int TrimAndRetry(Call call) {
  const int result = call();
  return TrimIfOutOfMemory(result) ? call() : result;
}

}  // namespace gmlake

#endif  // GMLAKE_PJRT_HOOK_TRIM_AND_RETRY_H_
