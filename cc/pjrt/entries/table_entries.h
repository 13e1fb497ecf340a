// Entries of the PJRT table for clients, errors and statistics. Each calls the entry that it replaces.
#ifndef GMLAKE_PJRT_ENTRIES_TABLE_ENTRIES_H_
#define GMLAKE_PJRT_ENTRIES_TABLE_ENTRIES_H_

#include "cc/base/status.h"
#include "cc/pjrt/devices/device_registry.h"
#include "cc/pjrt/entries/activity.h"
#include "cc/pjrt/patch/table_edit.h"
#include "cc/pjrt/plugin/plugin_client.h"
#include "xla/pjrt/c/pjrt_c_api.h"

namespace gmlake {

// To be called once, before the first of them is put in place. `plugin` lives for ever.
Status PrepareEntries(const PluginClient* plugin, DeviceRegistry* registry, Activity* activity);

// Replaces the entries for clients, errors and statistics.
Status WrapEntries(PJRT_Api* api, TableEdit* edit);

}  // namespace gmlake

#endif  // GMLAKE_PJRT_ENTRIES_TABLE_ENTRIES_H_
