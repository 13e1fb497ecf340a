// Checks that a client takes its memory from us. XLA may have chosen another allocator than the requested one.
#ifndef GMLAKE_PJRT_ENTRIES_VERIFICATION_H_
#define GMLAKE_PJRT_ENTRIES_VERIFICATION_H_

#include "cc/base/status.h"
#include "cc/pjrt/devices/device_registry.h"
#include "cc/pjrt/plugin/plugin_client.h"
#include "xla/pjrt/c/pjrt_c_api.h"

namespace gmlake {

// Has the client make one small buffer on each of its devices and sees whether the request arrives in `registry`.
// Devices where it does are marked as verified; the first where it does not is the failure. `api` is the plugin's own
// table.
Status VerifyClient(const PluginClient& plugin, PJRT_Client* client, DeviceRegistry* registry);

}  // namespace gmlake

#endif  // GMLAKE_PJRT_ENTRIES_VERIFICATION_H_
