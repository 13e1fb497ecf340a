// Reads an array of a sleeping device from the host copy of its bytes.
//
// Reading must succeed where it can: JAX remembers a failed first copy for the life of the array. Reads that need the
// device (another layout, packed elements) are left to the caller, who refuses them.
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
