#include "cc/pjrt/testing/scripted_plugin.h"

#include <dlfcn.h>

#include <cstdint>
#include <vector>

#include "xla/pjrt/c/pjrt_c_api.h"

#define EXPORT extern "C" __attribute__((visibility("default")))

struct PJRT_Error {
  std::string text;
};
struct PJRT_Device {
  int ordinal;
};
struct PJRT_Client {
  bool uses_pool;
  std::vector<PJRT_Device*> devices;
};
struct PJRT_Buffer {
  unsigned long long address;
};

namespace {

using Address = unsigned long long;
using AllocateFunction = int (*)(Address*, size_t, void*, void*);
using FreeFunction = int (*)(Address, void*);
using PoolFunction = int (*)(void**, int);

gmlake::ScriptedPlugin& State() {
  static gmlake::ScriptedPlugin* const state = new gmlake::ScriptedPlugin;
  return *state;
}

// XLA looks each function up once, when it first needs it, and keeps it.
template <typename Function>
Function DriverFunction(const char* name) {
  void* driver = dlopen(State().driver_path.c_str(), RTLD_NOW | RTLD_LOCAL);
  return reinterpret_cast<Function>(dlsym(driver, name));
}

PJRT_Error* Error(const std::string& text) {
  ++State().errors;
  return new PJRT_Error{text};
}

void ErrorMessage(PJRT_Error_Message_Args* args) {
  args->message = args->error->text.data();
  args->message_size = args->error->text.size();
}

void ErrorDestroy(PJRT_Error_Destroy_Args* args) {
  --State().errors;
  delete args->error;
}

PJRT_Error* ErrorGetCode(PJRT_Error_GetCode_Args* args) {
  args->code = PJRT_Error_Code_INVALID_ARGUMENT;
  return nullptr;
}

PJRT_Error* EventAwait(PJRT_Event_Await_Args*) { return nullptr; }
PJRT_Error* EventDestroy(PJRT_Event_Destroy_Args*) { return nullptr; }

std::string TextOf(const PJRT_NamedValue& value) {
  if (value.type == PJRT_NamedValue_kString) return std::string(value.string_value, value.value_size);
  if (value.type == PJRT_NamedValue_kBool) return value.bool_value ? "true" : "false";
  return "other";
}

PJRT_Error* ClientCreate(PJRT_Client_Create_Args* args) {
  gmlake::ScriptedPlugin& state = State();
  state.options.clear();
  for (size_t i = 0; i < args->num_options; ++i) {
    const PJRT_NamedValue& value = args->create_options[i];
    state.options[std::string(value.name, value.name_size)] = TextOf(value);
  }
  if (state.creation_fails) return Error("the client cannot be created");
  auto* client = new PJRT_Client;
  const bool asked_for_pool = state.options.count("allocator") != 0 && state.options["allocator"] == "cuda_async";
  client->uses_pool = asked_for_pool && !state.takes_another_allocator;
  for (int i = 0; i < state.num_devices; ++i) client->devices.push_back(new PJRT_Device{i});
  args->client = client;
  ++state.clients;
  return nullptr;
}

PJRT_Error* ClientDestroy(PJRT_Client_Destroy_Args* args) {
  --State().clients;
  for (PJRT_Device* device : args->client->devices) delete device;
  delete args->client;
  return nullptr;
}

PJRT_Error* ClientAddressableDevices(PJRT_Client_AddressableDevices_Args* args) {
  args->addressable_devices = args->client->devices.data();
  args->num_addressable_devices = args->client->devices.size();
  return nullptr;
}

PJRT_Error* DeviceLocalHardwareId(PJRT_Device_LocalHardwareId_Args* args) {
  if (args->struct_size < PJRT_Device_LocalHardwareId_Args_STRUCT_SIZE)
    return Error("Unexpected size of the arguments");
  args->local_hardware_id = args->device->ordinal;
  return nullptr;
}

PJRT_Error* DeviceMemoryStats(PJRT_Device_MemoryStats_Args* args) {
  if (State().knows_no_memory_stats) return Error("no statistics");
  args->bytes_in_use = -7;
  return nullptr;
}

Address AllocateFromDefaultPool(int ordinal, size_t size) {
  static const auto get_pool = DriverFunction<PoolFunction>("cuDeviceGetDefaultMemPool");
  static const auto allocate = DriverFunction<AllocateFunction>("cuMemAllocFromPoolAsync");
  void* pool = nullptr;
  Address address = 0;
  get_pool(&pool, ordinal);
  return allocate(&address, size, pool, nullptr) == 0 ? address : 0;
}

PJRT_Error* ClientBufferFromHostBuffer(PJRT_Client_BufferFromHostBuffer_Args* args) {
  Address address = 0;
  if (args->client->uses_pool) {
    address = AllocateFromDefaultPool(args->device->ordinal, args->num_dims == 0 ? 4 : args->dims[0]);
    if (address == 0) return Error("RESOURCE_EXHAUSTED: Out of memory while trying to allocate");
  }
  ++State().buffers;
  args->buffer = new PJRT_Buffer{address};
  args->done_with_host_buffer = nullptr;
  return nullptr;
}

PJRT_Error* BufferDestroy(PJRT_Buffer_Destroy_Args* args) {
  static const auto free = DriverFunction<FreeFunction>("cuMemFreeAsync");
  if (args->buffer->address != 0) free(args->buffer->address, nullptr);
  --State().buffers;
  delete args->buffer;
  return nullptr;
}

PJRT_Error* BufferReadyEvent(PJRT_Buffer_ReadyEvent_Args* args) {
  args->event = nullptr;
  return nullptr;
}

PJRT_Api MakeTable() {
  PJRT_Api api = {};
  api.struct_size = sizeof(PJRT_Api);
  api.pjrt_api_version.major_version = PJRT_API_MAJOR;
  api.pjrt_api_version.minor_version = PJRT_API_MINOR;
  api.PJRT_Error_Message = &ErrorMessage;
  api.PJRT_Error_Destroy = &ErrorDestroy;
  api.PJRT_Error_GetCode = &ErrorGetCode;
  api.PJRT_Event_Await = &EventAwait;
  api.PJRT_Event_Destroy = &EventDestroy;
  api.PJRT_Client_Create = &ClientCreate;
  api.PJRT_Client_Destroy = &ClientDestroy;
  api.PJRT_Client_AddressableDevices = &ClientAddressableDevices;
  api.PJRT_Client_BufferFromHostBuffer = &ClientBufferFromHostBuffer;
  api.PJRT_Device_LocalHardwareId = &DeviceLocalHardwareId;
  api.PJRT_Device_MemoryStats = &DeviceMemoryStats;
  api.PJRT_Buffer_Destroy = &BufferDestroy;
  api.PJRT_Buffer_ReadyEvent = &BufferReadyEvent;
  return api;
}

}  // namespace

EXPORT gmlake::ScriptedPlugin* GetScriptedPlugin() { return &State(); }

EXPORT const PJRT_Api* GetPjrtApi() {
  static PJRT_Api api = MakeTable();
  return &api;
}
