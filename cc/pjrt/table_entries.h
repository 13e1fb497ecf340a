// The functions that take the place of entries of the stock plugin's PJRT table. Each calls the entry it replaces.
#ifndef GMLAKE_PJRT_TABLE_ENTRIES_H_
#define GMLAKE_PJRT_TABLE_ENTRIES_H_

#include "cc/pjrt/activity.h"
#include "cc/pjrt/device_registry.h"
#include "xla/pjrt/c/pjrt_c_api.h"

namespace gmlake {

// To be called once, before the first of them is put in place. `stock` holds the entries as they were.
void PrepareEntries(const PJRT_Api& stock, DeviceRegistry* registry, Activity* activity);

PJRT_Error* CreateClient(PJRT_Client_Create_Args* args);
PJRT_Error* DestroyClient(PJRT_Client_Destroy_Args* args);
PJRT_Error* ErrorGetCode(PJRT_Error_GetCode_Args* args);
PJRT_Error* DeviceMemoryStats(PJRT_Device_MemoryStats_Args* args);
void ErrorMessage(PJRT_Error_Message_Args* args);
void ErrorDestroy(PJRT_Error_Destroy_Args* args);

}  // namespace gmlake

#endif  // GMLAKE_PJRT_TABLE_ENTRIES_H_
