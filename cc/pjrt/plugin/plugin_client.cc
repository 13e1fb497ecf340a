#include "cc/pjrt/plugin/plugin_client.h"

#include <algorithm>
#include <cstring>

namespace gmlake {

PJRT_Api CopyOf(const PJRT_Api& table) {
  PJRT_Api copy = {};
  std::memcpy(&copy, &table, std::min(table.struct_size, sizeof(PJRT_Api)));
  return copy;
}

Status PluginClient::TakeError(PJRT_Error* error) const {
  if (error == nullptr) return OkStatus();
  const std::string text = TextOf(error);
  Destroy(error);
  return Status(StatusCode::kDriverError, text);
}

void PluginClient::Destroy(PJRT_Error* error) const {
  auto args = GMLAKE_PLUGIN_ARGS(PJRT_Error_Destroy);
  args.error = error;
  stock_.PJRT_Error_Destroy(&args);
}

std::string PluginClient::TextOf(const PJRT_Error* error) const {
  auto args = GMLAKE_PLUGIN_ARGS(PJRT_Error_Message);
  args.error = error;
  stock_.PJRT_Error_Message(&args);
  return std::string(args.message, args.message_size);
}

bool PluginClient::IsExhausted(const PJRT_Error* error) const {
  auto args = GMLAKE_PLUGIN_ARGS(PJRT_Error_GetCode);
  args.error = error;
  return Call(stock_.PJRT_Error_GetCode, &args).ok() && args.code == PJRT_Error_Code_RESOURCE_EXHAUSTED;
}

PJRT_Error* PluginClient::ProvokeError() const {
  auto args = MakeArgs<PJRT_Device_LocalHardwareId_Args>(0);  // as from a caller older than any
  return stock_.PJRT_Device_LocalHardwareId(&args);
}

StatusOr<Devices> PluginClient::AddressableDevices(PJRT_Client* client) const {
  auto args = GMLAKE_PLUGIN_ARGS(PJRT_Client_AddressableDevices);
  args.client = client;
  GMLAKE_RETURN_IF_ERROR(Call(stock_.PJRT_Client_AddressableDevices, &args));
  return Devices(args.addressable_devices, args.addressable_devices + args.num_addressable_devices);
}

PJRT_Error* PluginClient::Destroy(PJRT_Client* client) const {
  auto args = GMLAKE_PLUGIN_ARGS(PJRT_Client_Destroy);
  args.client = client;
  return stock_.PJRT_Client_Destroy(&args);
}

Status PluginClient::TouchDevice(PJRT_Client* client, PJRT_Device* device) const {
  const int32_t word = 0;
  auto args = GMLAKE_PLUGIN_ARGS(PJRT_Client_BufferFromHostBuffer);
  args.client = client;
  args.data = &word;
  args.type = PJRT_Buffer_Type_S32;
  args.host_buffer_semantics = PJRT_HostBufferSemantics_kImmutableOnlyDuringCall;
  args.device = device;
  GMLAKE_RETURN_IF_ERROR(Call(stock_.PJRT_Client_BufferFromHostBuffer, &args));
  const Status sent = AwaitAndDestroy(args.done_with_host_buffer);
  const Status ready = AwaitAndDestroy(args.buffer);
  return sent.ok() ? ready : sent;
}

Status PluginClient::AwaitAndDestroy(PJRT_Event* event) const {
  const Status waited = Await(event);
  const Status destroyed = Destroy(event);
  return waited.ok() ? destroyed : waited;
}

Status PluginClient::AwaitAndDestroy(PJRT_Buffer* buffer) const {
  const StatusOr<PJRT_Event*> event = ReadyEvent(buffer);
  const Status ready = event.ok() ? AwaitAndDestroy(*event) : event.status();
  const Status destroyed = Destroy(buffer);
  return ready.ok() ? destroyed : ready;
}

int PluginClient::OrdinalOf(PJRT_Device* device) const {
  if (device == nullptr) return -1;
  auto args = GMLAKE_PLUGIN_ARGS(PJRT_Device_LocalHardwareId);
  args.device = device;
  args.local_hardware_id = -1;
  return Call(stock_.PJRT_Device_LocalHardwareId, &args).ok() ? args.local_hardware_id : -1;
}

std::vector<int> PluginClient::OrdinalsOf(const Devices& devices) const {
  std::vector<int> ordinals;
  for (PJRT_Device* device : devices) ordinals.push_back(OrdinalOf(device));
  return ordinals;
}

PJRT_Device* PluginClient::DeviceOf(PJRT_Buffer* buffer) const {
  auto args = GMLAKE_PLUGIN_ARGS(PJRT_Buffer_Device);
  args.buffer = buffer;
  return Call(stock_.PJRT_Buffer_Device, &args).ok() ? args.device : nullptr;
}

Devices PluginClient::DevicesOf(PJRT_Memory* memory) const {
  auto args = GMLAKE_PLUGIN_ARGS(PJRT_Memory_AddressableByDevices);
  args.memory = memory;
  if (memory == nullptr || !Call(stock_.PJRT_Memory_AddressableByDevices, &args).ok()) return {};
  return Devices(args.devices, args.devices + args.num_devices);
}

Devices PluginClient::DevicesOf(PJRT_LoadedExecutable* executable) const {
  auto args = GMLAKE_PLUGIN_ARGS(PJRT_LoadedExecutable_AddressableDevices);
  args.executable = executable;
  if (!Call(stock_.PJRT_LoadedExecutable_AddressableDevices, &args).ok()) return {};
  return Devices(args.addressable_devices, args.addressable_devices + args.num_addressable_devices);
}

Devices PluginClient::DevicesOf(PJRT_AsyncHostToDeviceTransferManager* manager) const {
  auto args = GMLAKE_PLUGIN_ARGS(PJRT_AsyncHostToDeviceTransferManager_Device);
  args.transfer_manager = manager;
  if (!Call(stock_.PJRT_AsyncHostToDeviceTransferManager_Device, &args).ok()) return {};
  return {args.device_out};
}

// What is behind a loaded executable is ours to destroy.
template <typename Ask>
void PluginClient::AskExecutable(PJRT_LoadedExecutable* loaded, Ask ask) const {
  auto args = GMLAKE_PLUGIN_ARGS(PJRT_LoadedExecutable_GetExecutable);
  args.loaded_executable = loaded;
  if (!Call(stock_.PJRT_LoadedExecutable_GetExecutable, &args).ok()) return;
  ask(args.executable);
  auto destroy = GMLAKE_PLUGIN_ARGS(PJRT_Executable_Destroy);
  destroy.executable = args.executable;
  Call(stock_.PJRT_Executable_Destroy, &destroy).IgnoreError();
}

std::string PluginClient::NameOf(PJRT_LoadedExecutable* loaded) const {
  std::string name;
  AskExecutable(loaded, [&](PJRT_Executable* executable) {
    auto args = GMLAKE_PLUGIN_ARGS(PJRT_Executable_Name);
    args.executable = executable;
    if (!Call(stock_.PJRT_Executable_Name, &args).ok()) return;
    name.assign(args.executable_name, args.executable_name_size);
  });
  return name;
}

size_t PluginClient::NumOutputs(PJRT_LoadedExecutable* loaded) const {
  size_t count = 0;
  AskExecutable(loaded, [&](PJRT_Executable* executable) {
    auto args = GMLAKE_PLUGIN_ARGS(PJRT_Executable_NumOutputs);
    args.executable = executable;
    if (Call(stock_.PJRT_Executable_NumOutputs, &args).ok()) count = args.num_outputs;
  });
  return count;
}

bool PluginClient::IsDeleted(PJRT_Buffer* buffer) const {
  auto args = GMLAKE_PLUGIN_ARGS(PJRT_Buffer_IsDeleted);
  args.buffer = buffer;
  return !Call(stock_.PJRT_Buffer_IsDeleted, &args).ok() || args.is_deleted;
}

std::optional<size_t> PluginClient::SizeOf(PJRT_Buffer* buffer) const {
  auto args = GMLAKE_PLUGIN_ARGS(PJRT_Buffer_OnDeviceSizeInBytes);
  args.buffer = buffer;
  if (!Call(stock_.PJRT_Buffer_OnDeviceSizeInBytes, &args).ok()) return std::nullopt;
  return args.on_device_size_in_bytes;
}

std::optional<PJRT_Buffer_MemoryLayout> PluginClient::LayoutOf(PJRT_Buffer* buffer) const {
  auto args = GMLAKE_PLUGIN_ARGS(PJRT_Buffer_GetMemoryLayout);
  args.buffer = buffer;
  if (!Call(stock_.PJRT_Buffer_GetMemoryLayout, &args).ok()) return std::nullopt;
  return args.layout;
}

Address PluginClient::AddressOf(PJRT_Buffer* buffer) const {
  auto args = GMLAKE_PLUGIN_ARGS(PJRT_Buffer_OpaqueDeviceMemoryDataPointer);
  args.buffer = buffer;
  if (!Call(stock_.PJRT_Buffer_OpaqueDeviceMemoryDataPointer, &args).ok()) return Address();
  return Address(reinterpret_cast<uint64_t>(args.device_memory_ptr));
}

StatusOr<PJRT_Event*> PluginClient::ReadyEvent(PJRT_Buffer* buffer) const {
  auto args = GMLAKE_PLUGIN_ARGS(PJRT_Buffer_ReadyEvent);
  args.buffer = buffer;
  GMLAKE_RETURN_IF_ERROR(Call(stock_.PJRT_Buffer_ReadyEvent, &args));
  return args.event;
}

Status PluginClient::Destroy(PJRT_Buffer* buffer) const {
  auto args = GMLAKE_PLUGIN_ARGS(PJRT_Buffer_Destroy);
  args.buffer = buffer;
  return Call(stock_.PJRT_Buffer_Destroy, &args);
}

bool PluginClient::IsReady(PJRT_Event* event) const {
  auto args = GMLAKE_PLUGIN_ARGS(PJRT_Event_IsReady);
  args.event = event;
  return Call(stock_.PJRT_Event_IsReady, &args).ok() && args.is_ready;
}

PJRT_Error* PluginClient::ErrorOf(PJRT_Event* event) const {
  auto args = GMLAKE_PLUGIN_ARGS(PJRT_Event_Error);
  args.event = event;
  return stock_.PJRT_Event_Error(&args);
}

Status PluginClient::Await(PJRT_Event* event) const {
  auto args = GMLAKE_PLUGIN_ARGS(PJRT_Event_Await);
  args.event = event;
  return Call(stock_.PJRT_Event_Await, &args);
}

Status PluginClient::CallWhenReady(PJRT_Event* event, PJRT_Event_OnReadyCallback callback, void* user_arg) const {
  auto args = GMLAKE_PLUGIN_ARGS(PJRT_Event_OnReady);
  args.event = event;
  args.callback = callback;
  args.user_arg = user_arg;
  return Call(stock_.PJRT_Event_OnReady, &args);
}

Status PluginClient::Destroy(PJRT_Event* event) const {
  auto args = GMLAKE_PLUGIN_ARGS(PJRT_Event_Destroy);
  args.event = event;
  return Call(stock_.PJRT_Event_Destroy, &args);
}

}  // namespace gmlake
