#include "cc/pjrt/entries/table.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <string>

#include "cc/pjrt/entries/label_entries.h"
#include "cc/pjrt/entries/table_entries.h"
#include "cc/pjrt/oom/origin_entries.h"
#include "cc/pjrt/oom/retry_entries.h"
#include "cc/pjrt/patch/exception_barrier.h"
#include "cc/pjrt/patch/table_edit.h"
#include "cc/pjrt/plugin/plugin_client.h"
#include "cc/pjrt/sleep/sleep_entries.h"

namespace gmlake {
namespace {

// PJRT_Buffer_ReadyEvent is the last entry that we use.
constexpr size_t kTableBytesUsed = offsetof(PJRT_Api, PJRT_Buffer_ReadyEvent) + sizeof(void*);

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

// The client of the stock plugin is never destroyed: entries that could not be put back would still ask it.
Status Replace(PJRT_Api* api, DeviceRegistry* registry, Activity* activity, TableEdit* edit) {
  const auto* const plugin = new PluginClient(*api);
  GMLAKE_RETURN_IF_ERROR(PrepareEntries(plugin, registry, activity));
  return FirstFailure({WrapEntries(api, edit), WrapSleepEntries(api, edit), WrapLabelEntries(plugin, api, edit),
                       WrapOriginEntries(api, edit), WrapRetryEntries(plugin, api, edit)});
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
  TableEdit edit;
  Status wrapped(StatusCode::kFailedPrecondition, "the host has not enough memory to replace the table's entries");
  Attempt([&] { wrapped = Replace(api, registry, activity, &edit); });
  if (wrapped.ok()) return OkStatus();
  const Status undone = edit.Undo();
  return undone.ok() ? wrapped : Status(wrapped.code(), wrapped.message() + "; " + undone.message());
}

}  // namespace gmlake
