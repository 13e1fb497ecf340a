#include "cc/pjrt/testing/scripted_plugin.h"

#include <dlfcn.h>

#include <cstddef>
#include <cstdint>
#include <utility>
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
  PJRT_Device* device;
};
struct PJRT_Event {};
struct PJRT_Memory {
  PJRT_Device* device;
};
struct PJRT_AsyncHostToDeviceTransferManager {
  PJRT_Device* device;
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
PJRT_Error* EventDestroy(PJRT_Event_Destroy_Args* args) {
  delete args->event;
  return nullptr;
}
PJRT_Error* EventOnReady(PJRT_Event_OnReady_Args* args) {
  State().copying.push_back([callback = args->callback, user_arg = args->user_arg] { callback(nullptr, user_arg); });
  return nullptr;
}

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
    const int64_t size = args->num_dims == 0 ? 4 : args->dims[0];
    address = AllocateFromDefaultPool(args->device->ordinal, size);
    if (address == 0)
      return Error("RESOURCE_EXHAUSTED: Out of memory while trying to allocate " + std::to_string(size) + " bytes.");
  }
  ++State().buffers;
  args->buffer = new PJRT_Buffer{address, args->device};
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
  args->event = State().copies_take_time ? new PJRT_Event : nullptr;
  return nullptr;
}

PJRT_Error* BufferDevice(PJRT_Buffer_Device_Args* args) {
  if (args->buffer != nullptr) args->device = args->buffer->device;
  return nullptr;
}

PJRT_Error* MemoryAddressableByDevices(PJRT_Memory_AddressableByDevices_Args* args) {
  args->devices = &args->memory->device;
  args->num_devices = 1;
  return nullptr;
}

PJRT_Error* ManagerDevice(PJRT_AsyncHostToDeviceTransferManager_Device_Args* args) {
  if (args->transfer_manager != nullptr) args->device_out = args->transfer_manager->device;
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
  api.PJRT_Event_OnReady = &EventOnReady;
  api.PJRT_Client_Create = &ClientCreate;
  api.PJRT_Client_Destroy = &ClientDestroy;
  api.PJRT_Client_AddressableDevices = &ClientAddressableDevices;
  api.PJRT_Client_BufferFromHostBuffer = &ClientBufferFromHostBuffer;
  api.PJRT_Device_LocalHardwareId = &DeviceLocalHardwareId;
  api.PJRT_Device_MemoryStats = &DeviceMemoryStats;
  api.PJRT_Buffer_Destroy = &BufferDestroy;
  api.PJRT_Buffer_Device = &BufferDevice;
  api.PJRT_Memory_AddressableByDevices = &MemoryAddressableByDevices;
  api.PJRT_AsyncHostToDeviceTransferManager_Device = &ManagerDevice;
  api.PJRT_Buffer_ReadyEvent = &BufferReadyEvent;
  return api;
}

// A table may go on behind what the header knows of it.
struct Table {
  PJRT_Api api = MakeTable();
  void* later[gmlake::kEntries - sizeof(PJRT_Api) / sizeof(void*)] = {};
  void** begin() { return reinterpret_cast<void**>(&api); }
};

Table& OwnTable() {
  static Table* const table = new Table;
  return *table;
}

PJRT_Error* Nothing(size_t place) {
  if (State().inside) State().inside(place);
  return nullptr;
}

template <size_t kPlace>
PJRT_Error* NothingAt(void*) {
  return Nothing(kPlace);
}

// A send tells through a callback that it is over: the last two of its arguments, which are eight words.
void SendByDescriptor(void** args) {
  Nothing(gmlake::kExtensionEntries + 1);
  auto* const callback = reinterpret_cast<void (*)(PJRT_Error*, bool, void*)>(args[7]);
  State().copying.push_back([callback, user_arg = args[6]] { callback(nullptr, true, user_arg); });
}

struct Extension {
  PJRT_Extension_Base base;
  void* entries[4];
};

template <size_t... kPlaces>
void OfferEntries(std::index_sequence<kPlaces...>) {
  void* const nothing[] = {reinterpret_cast<void*>(&NothingAt<kPlaces>)...};
  for (size_t place = offsetof(PJRT_Api, PJRT_Error_Destroy) / sizeof(void*); place < gmlake::kEntries; ++place) {
    void*& entry = OwnTable().begin()[place];
    if (entry != nullptr) continue;
    entry = nothing[place];
    State().offered.push_back(place);
  }
}

void OfferExtension() {
  constexpr size_t kFirst = gmlake::kExtensionEntries;
  static Extension extension = {};
  extension.base.struct_size = sizeof(extension);
  extension.base.type = static_cast<PJRT_Extension_Type>(12);
  void* const entries[] = {reinterpret_cast<void*>(&NothingAt<kFirst>), reinterpret_cast<void*>(&SendByDescriptor),
                           reinterpret_cast<void*>(&NothingAt<kFirst + 2>),
                           reinterpret_cast<void*>(&NothingAt<kFirst + 3>)};
  for (size_t i = 0; i < 4; ++i) {
    extension.entries[i] = entries[i];
    State().offered.push_back(kFirst + i);
  }
  OwnTable().api.extension_start = &extension.base;
}

void OfferAll() {
  OwnTable().api.struct_size = gmlake::kEntries * sizeof(void*);
  OfferEntries(std::make_index_sequence<gmlake::kEntries>());
  OfferExtension();
}

}  // namespace

EXPORT gmlake::ScriptedPlugin* GetScriptedPlugin() {
  State().offer_all = &OfferAll;
  return &State();
}

EXPORT const PJRT_Api* GetPjrtApi() {
  return State().table == nullptr ? &OwnTable().api : static_cast<const PJRT_Api*>(State().table);
}
