#include "cc/pjrt/plugin/plugin_client.h"

namespace gmlake {
namespace {

Status Await(const PJRT_Api& api, PJRT_Event* event) {
  PJRT_Event_Await_Args wait = {};
  wait.struct_size = PJRT_Event_Await_Args_STRUCT_SIZE;
  wait.event = event;
  Status waited = TakeError(api, api.PJRT_Event_Await(&wait));
  PJRT_Event_Destroy_Args destroy = {};
  destroy.struct_size = PJRT_Event_Destroy_Args_STRUCT_SIZE;
  destroy.event = event;
  const Status destroyed = TakeError(api, api.PJRT_Event_Destroy(&destroy));
  return waited.ok() ? destroyed : waited;
}

Status AwaitReady(const PJRT_Api& api, PJRT_Buffer* buffer) {
  PJRT_Buffer_ReadyEvent_Args ready = {};
  ready.struct_size = PJRT_Buffer_ReadyEvent_Args_STRUCT_SIZE;
  ready.buffer = buffer;
  const Status asked = TakeError(api, api.PJRT_Buffer_ReadyEvent(&ready));
  return asked.ok() ? Await(api, ready.event) : asked;
}

Status Destroy(const PJRT_Api& api, PJRT_Buffer* buffer) {
  PJRT_Buffer_Destroy_Args destroy = {};
  destroy.struct_size = PJRT_Buffer_Destroy_Args_STRUCT_SIZE;
  destroy.buffer = buffer;
  return TakeError(api, api.PJRT_Buffer_Destroy(&destroy));
}

StatusOr<Bytes> TemporaryBytes(const PJRT_Api& api, PJRT_Executable* executable) {
  PJRT_Executable_GetCompiledMemoryStats_Args args = {};
  args.struct_size = PJRT_Executable_GetCompiledMemoryStats_Args_STRUCT_SIZE;
  args.executable = executable;
  const Status asked = TakeError(api, api.PJRT_Executable_GetCompiledMemoryStats(&args));
  if (!asked.ok()) return asked;
  return Bytes(args.temp_size_in_bytes);
}

}  // namespace

Status TakeError(const PJRT_Api& api, PJRT_Error* error) {
  if (error == nullptr) return OkStatus();
  const std::string text = TextOf(api, error);
  PJRT_Error_Destroy_Args destroy = {};
  destroy.struct_size = PJRT_Error_Destroy_Args_STRUCT_SIZE;
  destroy.error = error;
  api.PJRT_Error_Destroy(&destroy);
  return Status(StatusCode::kDriverError, text);
}

std::string TextOf(const PJRT_Api& api, const PJRT_Error* error) {
  PJRT_Error_Message_Args args = {};
  args.struct_size = PJRT_Error_Message_Args_STRUCT_SIZE;
  args.error = error;
  api.PJRT_Error_Message(&args);
  return std::string(args.message, args.message_size);
}

bool IsExhausted(const PJRT_Api& api, const PJRT_Error* error) {
  PJRT_Error_GetCode_Args args = {};
  args.struct_size = PJRT_Error_GetCode_Args_STRUCT_SIZE;
  args.error = error;
  return TakeError(api, api.PJRT_Error_GetCode(&args)).ok() && args.code == PJRT_Error_Code_RESOURCE_EXHAUSTED;
}

StatusOr<std::vector<PJRT_Device*>> AddressableDevices(const PJRT_Api& api, PJRT_Client* client) {
  PJRT_Client_AddressableDevices_Args args = {};
  args.struct_size = PJRT_Client_AddressableDevices_Args_STRUCT_SIZE;
  args.client = client;
  const Status asked = TakeError(api, api.PJRT_Client_AddressableDevices(&args));
  if (!asked.ok()) return asked;
  return std::vector<PJRT_Device*>(args.addressable_devices, args.addressable_devices + args.num_addressable_devices);
}

int OrdinalOf(const PJRT_Api& api, PJRT_Device* device) {
  PJRT_Device_LocalHardwareId_Args args = {};
  args.struct_size = PJRT_Device_LocalHardwareId_Args_STRUCT_SIZE;
  args.device = device;
  args.local_hardware_id = -1;
  const Status asked = TakeError(api, api.PJRT_Device_LocalHardwareId(&args));
  return asked.ok() ? args.local_hardware_id : -1;
}

StatusOr<PJRT_Executable*> ExecutableOf(const PJRT_Api& api, PJRT_LoadedExecutable* loaded) {
  PJRT_LoadedExecutable_GetExecutable_Args args = {};
  args.struct_size = PJRT_LoadedExecutable_GetExecutable_Args_STRUCT_SIZE;
  args.loaded_executable = loaded;
  const Status asked = TakeError(api, api.PJRT_LoadedExecutable_GetExecutable(&args));
  if (!asked.ok()) return asked;
  return args.executable;
}

void DestroyExecutable(const PJRT_Api& api, PJRT_Executable* executable) {
  PJRT_Executable_Destroy_Args args = {};
  args.struct_size = PJRT_Executable_Destroy_Args_STRUCT_SIZE;
  args.executable = executable;
  TakeError(api, api.PJRT_Executable_Destroy(&args)).IgnoreError();
}

StatusOr<Bytes> TemporaryBytes(const PJRT_Api& api, PJRT_LoadedExecutable* loaded) {
  if (api.PJRT_LoadedExecutable_GetExecutable == nullptr || api.PJRT_Executable_Destroy == nullptr ||
      api.PJRT_Executable_GetCompiledMemoryStats == nullptr) {
    return Status(StatusCode::kNotSupported, "the CUDA plugin does not tell how much memory a program needs");
  }
  const StatusOr<PJRT_Executable*> executable = ExecutableOf(api, loaded);
  if (!executable.ok()) return executable.status();
  const StatusOr<Bytes> bytes = TemporaryBytes(api, *executable);
  DestroyExecutable(api, *executable);
  return bytes;
}

Status TouchDevice(const PJRT_Api& api, PJRT_Client* client, PJRT_Device* device) {
  const int32_t word = 0;
  PJRT_Client_BufferFromHostBuffer_Args args = {};
  args.struct_size = PJRT_Client_BufferFromHostBuffer_Args_STRUCT_SIZE;
  args.client = client;
  args.data = &word;
  args.type = PJRT_Buffer_Type_S32;
  args.host_buffer_semantics = PJRT_HostBufferSemantics_kImmutableOnlyDuringCall;
  args.device = device;
  const Status made = TakeError(api, api.PJRT_Client_BufferFromHostBuffer(&args));
  if (!made.ok()) return made;
  const Status sent = Await(api, args.done_with_host_buffer);
  const Status ready = AwaitReady(api, args.buffer);
  const Status destroyed = Destroy(api, args.buffer);
  if (!sent.ok()) return sent;
  return ready.ok() ? destroyed : ready;
}

}  // namespace gmlake
