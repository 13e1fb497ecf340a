// Gives the stock plugin functions of ours when it looks up some functions of the driver.
//
// Rationale. XLA reaches the driver through dlsym on libcuda.so.1, once per function. Under its `cuda_async` allocator
// every buffer of the default memory space is then one cuMemAllocFromPoolAsync from the device's default pool, and one
// cuMemFreeAsync. Redirecting dlsym in that one library redirects those calls and nobody else's.
//
// Approach. A request for the default pool of a device that we serve is ours. Any other pool, and any address that is
// not a lease of ours, goes to the function that the driver would have given, unchanged. So does every other look-up.
//
// A third function, cuStreamDestroy, is ours only to learn that a stream is about to go: memory that was last used on
// it is put in order before, because nothing may be asked about it afterwards.
//
// Other functions that take device memory are the driver's, asked once more after our idle memory was given back if the
// device has no room (trim_and_retry.h).
//
// Limits. XLA asks for neither cuMemAllocAsync nor for the _ptsz names, so these are left alone: memory from them would
// be the driver's and would go back to it. Whoever looked these functions up before us keeps the driver's.
#ifndef GMLAKE_PJRT_HOOK_DRIVER_HOOK_H_
#define GMLAKE_PJRT_HOOK_DRIVER_HOOK_H_

#include <string>
#include <vector>

#include "cc/base/status.h"
#include "cc/pjrt/devices/device_registry.h"
#include "cc/pjrt/patch/elf_got.h"

namespace gmlake {

// Where the hook goes, found and checked and not yet changed.
struct HookPoint {
  ElfImage image;
  std::vector<void**> slots;
};

// kNotSupported if `library` does not look functions up through dlsym of its own.
StatusOr<HookPoint> FindHookPoint(void* library);

// From here on the library's look-ups are answered for `registry`, which must live as long as the process.
Status InstallDriverHook(const HookPoint& point, DeviceRegistry* registry);
// Right after a successful install, before the library has looked anything up.
void RemoveDriverHook(const HookPoint& point);

}  // namespace gmlake

#endif  // GMLAKE_PJRT_HOOK_DRIVER_HOOK_H_
