// The stock plugin's PJRT table with a few of its entries replaced, in place: whoever holds the table, before or after,
// meets ours. Client_Create asks XLA for the allocator that the driver hook serves, Client_Destroy gives idle memory
// back, Device_MemoryStats answers with our numbers, and Error_Message adds to an out-of-memory error what we know
// (with Error_Destroy, to let go of that text). All other entries are the plugin's.
#ifndef GMLAKE_PJRT_ENTRIES_TABLE_H_
#define GMLAKE_PJRT_ENTRIES_TABLE_H_

#include "cc/base/status.h"
#include "cc/pjrt/devices/device_registry.h"
#include "cc/pjrt/entries/activity.h"
#include "xla/pjrt/c/pjrt_c_api.h"

namespace gmlake {

// Whether this is a table that we understand: version, size, and the entries that we use are there.
Status CheckTable(const PJRT_Api* api);

// Replaces the entries, or on failure none. `api` has passed CheckTable; all three objects live as long as the process.
// Happens once.
Status WrapTable(PJRT_Api* api, DeviceRegistry* registry, Activity* activity);

}  // namespace gmlake

#endif  // GMLAKE_PJRT_ENTRIES_TABLE_H_
