// Reads an array of a sleeping device: its bytes are on the host already.
//
// Reading must not fail where it can be avoided: JAX remembers the failure of an array's first copy to the host for as
// long as the array lives. What would need the device (another layout, packed elements) is left to the caller to
// refuse.
#ifndef GMLAKE_PJRT_SLEEP_SLEEPING_READER_H_
#define GMLAKE_PJRT_SLEEP_SLEEPING_READER_H_

#include "cc/pjrt/devices/device_registry.h"
#include "cc/pjrt/plugin/plugin_client.h"
#include "xla/pjrt/c/pjrt_c_api.h"

namespace gmlake {

// Does what PJRT_Buffer_ToHostBuffer would; false, and nothing done, where it cannot.
bool ReadSleeping(const PluginClient& plugin, ServedDevice* device, PJRT_Buffer_ToHostBuffer_Args* args);

}  // namespace gmlake

#endif  // GMLAKE_PJRT_SLEEP_SLEEPING_READER_H_
