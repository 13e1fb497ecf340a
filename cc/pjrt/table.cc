#include "cc/pjrt/table.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <iterator>
#include <string>

#include "cc/pjrt/foresight_entries.h"
#include "cc/pjrt/label_entries.h"
#include "cc/pjrt/page_protection.h"
#include "cc/pjrt/retry_entries.h"
#include "cc/pjrt/sleep_entries.h"
#include "cc/pjrt/table_entries.h"

namespace gmlake {
namespace {

// PJRT_Buffer_ReadyEvent is the last entry that we use.
constexpr size_t kTableBytesUsed = offsetof(PJRT_Api, PJRT_Buffer_ReadyEvent) + sizeof(void*);

void Restore(const PJRT_Api& stock, PJRT_Api* api) {
  Overwrite(&api->PJRT_Error_Message, stock.PJRT_Error_Message).IgnoreError();
  Overwrite(&api->PJRT_Error_Destroy, stock.PJRT_Error_Destroy).IgnoreError();
  Overwrite(&api->PJRT_Error_GetCode, stock.PJRT_Error_GetCode).IgnoreError();
  Overwrite(&api->PJRT_Client_Create, stock.PJRT_Client_Create).IgnoreError();
  Overwrite(&api->PJRT_Client_Destroy, stock.PJRT_Client_Destroy).IgnoreError();
  Overwrite(&api->PJRT_Device_MemoryStats, stock.PJRT_Device_MemoryStats).IgnoreError();
  Overwrite(&api->PJRT_LoadedExecutable_Execute, stock.PJRT_LoadedExecutable_Execute).IgnoreError();
  Overwrite(&api->PJRT_LoadedExecutable_Destroy, stock.PJRT_LoadedExecutable_Destroy).IgnoreError();
  Overwrite(&api->PJRT_Client_BufferFromHostBuffer, stock.PJRT_Client_BufferFromHostBuffer).IgnoreError();
  Overwrite(&api->PJRT_Buffer_CopyToDevice, stock.PJRT_Buffer_CopyToDevice).IgnoreError();
  Overwrite(&api->PJRT_Buffer_CopyToMemory, stock.PJRT_Buffer_CopyToMemory).IgnoreError();
  RestoreSleepEntries(api);
}

Status NotUnderstood(const std::string& what) {
  return Status(StatusCode::kNotSupported, "the CUDA plugin's PJRT table " + what + "; this jaxlib is not supported");
}

// The entries that we call or replace.
bool IsComplete(const PJRT_Api& api) {
  const void* const entries[] = {
      reinterpret_cast<void*>(api.PJRT_Error_Message),
      reinterpret_cast<void*>(api.PJRT_Error_Destroy),
      reinterpret_cast<void*>(api.PJRT_Error_GetCode),
      reinterpret_cast<void*>(api.PJRT_Event_Await),
      reinterpret_cast<void*>(api.PJRT_Event_Destroy),
      reinterpret_cast<void*>(api.PJRT_Client_Create),
      reinterpret_cast<void*>(api.PJRT_Client_Destroy),
      reinterpret_cast<void*>(api.PJRT_Client_AddressableDevices),
      reinterpret_cast<void*>(api.PJRT_Client_BufferFromHostBuffer),
      reinterpret_cast<void*>(api.PJRT_Device_LocalHardwareId),
      reinterpret_cast<void*>(api.PJRT_Device_MemoryStats),
      reinterpret_cast<void*>(api.PJRT_Buffer_Destroy),
      reinterpret_cast<void*>(api.PJRT_Buffer_ReadyEvent),
  };
  return std::none_of(std::begin(entries), std::end(entries), [](const void* entry) { return entry == nullptr; });
}

}  // namespace

Status CheckTable(const PJRT_Api* api) {
  if (api == nullptr) return NotUnderstood("is missing");
  if (api->struct_size < kTableBytesUsed) return NotUnderstood("is too small");
  const PJRT_Api_Version& version = api->pjrt_api_version;
  if (version.major_version != PJRT_API_MAJOR) {
    return NotUnderstood("has version " + std::to_string(version.major_version) + "." +
                         std::to_string(version.minor_version));
  }
  return IsComplete(*api) ? OkStatus() : NotUnderstood("lacks entries");
}

Status WrapTable(PJRT_Api* api, DeviceRegistry* registry, Activity* activity) {
  PJRT_Api stock = {};
  std::memcpy(&stock, api, std::min(api->struct_size, sizeof(PJRT_Api)));
  PrepareEntries(stock, registry, activity);
  for (const Status& replaced :
       {Overwrite(&api->PJRT_Error_Destroy, &ErrorDestroy), Overwrite(&api->PJRT_Error_Message, &ErrorMessage),
        Overwrite(&api->PJRT_Error_GetCode, &ErrorGetCode), Overwrite(&api->PJRT_Client_Create, &CreateClient),
        Overwrite(&api->PJRT_Client_Destroy, &DestroyClient),
        Overwrite(&api->PJRT_Device_MemoryStats, &DeviceMemoryStats), WrapSleepEntries(api),
        WrapForesightEntries(stock, registry, api), WrapLabelEntries(stock, api), WrapRetryEntries(stock, api)}) {
    if (replaced.ok()) continue;
    Restore(stock, api);
    return replaced;
  }
  return OkStatus();
}

}  // namespace gmlake
