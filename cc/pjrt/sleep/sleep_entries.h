// Puts a gate into the entries that use device memory. While a device sleeps, a call that would touch it gets an error
// that says so, and nothing reaches the driver.
//
// Which entries: executing, copying from the host, between devices and between processes, making buffers, compiling and
// loading (which measure kernels on the device), and taking an address from another library or handing it one. Deleting
// buffers and asking about them stays possible, and so does reading them: their bytes are on the host
// (sleeping_reader.h).
#ifndef GMLAKE_PJRT_SLEEP_SLEEP_ENTRIES_H_
#define GMLAKE_PJRT_SLEEP_SLEEP_ENTRIES_H_

#include <chrono>
#include <string>
#include <vector>

#include "cc/base/bytes.h"
#include "cc/base/status.h"
#include "cc/core/allocator.h"
#include "cc/pjrt/devices/device_registry.h"
#include "cc/pjrt/patch/table_edit.h"
#include "cc/pjrt/plugin/error_texts.h"
#include "cc/pjrt/plugin/plugin_client.h"
#include "xla/pjrt/c/pjrt_c_api.h"

namespace gmlake {

// To be called once, before the first entry is put in place. `plugin` lives for ever.
void PrepareSleepEntries(const PluginClient* plugin, DeviceRegistry* registry, ErrorTexts* texts);
// Puts a gate into each of these entries that `api` has.
Status WrapSleepEntries(PJRT_Api* api, TableEdit* edit);

// Closes the gate of the device and puts it to sleep. On failure the gate is open again, unless the device sleeps.
StatusOr<SleepReport> SleepDevice(ServedDevice* device, const SleepRequest& request);
StatusOr<SleepReport> WakeDevice(ServedDevice* device);
// Every device that can be woken.
void WakeAll();

// Addresses of the device's memory that another library holds.
std::vector<Address> SharedAddresses(ServedDevice* device);

}  // namespace gmlake

#endif  // GMLAKE_PJRT_SLEEP_SLEEP_ENTRIES_H_
