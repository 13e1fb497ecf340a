#include "cc/pjrt/sleep_entries.h"

#include <cstddef>
#include <cstdio>
#include <mutex>
#include <utility>

#include "cc/pjrt/error_maker.h"
#include "cc/pjrt/page_protection.h"
#include "cc/pjrt/plugin_client.h"
#include "cc/pjrt/shared_buffers.h"
#include "cc/pjrt/sleep_gate.h"
#include "cc/pjrt/sleeping_reader.h"
#include "cc/pjrt/transfers.h"

namespace gmlake {
namespace {

constexpr size_t kMostListed = 8;  // shared buffers named in one message

// What the doors need, C functions that they are. Set once, before the first of them is put in place.
struct Doors {
  PJRT_Api stock = {};
  ErrorTexts* texts = nullptr;
  DeviceRegistry* registry = nullptr;
  SleepGate gate;
  Transfers transfers{&stock, &gate};
  SharedBuffers shared;
};

Doors* doors = nullptr;

using Devices = std::vector<PJRT_Device*>;

PJRT_Device* DeviceOf(PJRT_Buffer* buffer) {
  PJRT_Buffer_Device_Args args = {};
  args.struct_size = PJRT_Buffer_Device_Args_STRUCT_SIZE;
  args.buffer = buffer;
  return TakeError(doors->stock, doors->stock.PJRT_Buffer_Device(&args)).ok() ? args.device : nullptr;
}

Devices DevicesOf(PJRT_Memory* memory) {
  PJRT_Memory_AddressableByDevices_Args args = {};
  args.struct_size = PJRT_Memory_AddressableByDevices_Args_STRUCT_SIZE;
  args.memory = memory;
  if (memory == nullptr) return {};
  if (!TakeError(doors->stock, doors->stock.PJRT_Memory_AddressableByDevices(&args)).ok()) return {};
  return Devices(args.devices, args.devices + args.num_devices);
}

Devices DevicesOf(PJRT_LoadedExecutable* executable) {
  PJRT_LoadedExecutable_AddressableDevices_Args args = {};
  args.struct_size = PJRT_LoadedExecutable_AddressableDevices_Args_STRUCT_SIZE;
  args.executable = executable;
  if (!TakeError(doors->stock, doors->stock.PJRT_LoadedExecutable_AddressableDevices(&args)).ok()) return {};
  return Devices(args.addressable_devices, args.addressable_devices + args.num_addressable_devices);
}

Devices DevicesOf(PJRT_AsyncHostToDeviceTransferManager* manager) {
  PJRT_AsyncHostToDeviceTransferManager_Device_Args args = {};
  args.struct_size = PJRT_AsyncHostToDeviceTransferManager_Device_Args_STRUCT_SIZE;
  args.transfer_manager = manager;
  if (!TakeError(doors->stock, doors->stock.PJRT_AsyncHostToDeviceTransferManager_Device(&args)).ok()) return {};
  return {args.device_out};
}

Devices EitherOf(PJRT_Device* device, PJRT_Memory* memory) {
  return device != nullptr ? Devices{device} : DevicesOf(memory);
}

// The devices that each call would touch.
Devices Touched(const PJRT_LoadedExecutable_Execute_Args& args) {
  return args.execute_device != nullptr ? Devices{args.execute_device} : DevicesOf(args.executable);
}
Devices Touched(const PJRT_Buffer_CopyRawToHost_Args& args) { return {DeviceOf(args.buffer)}; }
Devices Touched(const PJRT_Buffer_CopyRawToHostFuture_Args& args) { return {DeviceOf(args.buffer)}; }
Devices Touched(const PJRT_Buffer_IncreaseExternalReferenceCount_Args& args) { return {DeviceOf(args.buffer)}; }
Devices Touched(const PJRT_Buffer_CopyToDevice_Args& args) { return {DeviceOf(args.buffer), args.dst_device}; }
Devices Touched(const PJRT_Buffer_CopyToMemory_Args& args) {
  Devices devices = DevicesOf(args.dst_memory);
  devices.push_back(DeviceOf(args.buffer));
  return devices;
}
Devices Touched(const PJRT_Client_BufferFromHostBuffer_Args& args) { return EitherOf(args.device, args.memory); }
Devices Touched(const PJRT_Client_CreateUninitializedBuffer_Args& args) { return EitherOf(args.device, args.memory); }
Devices Touched(const PJRT_Client_CreateBuffersForAsyncHostToDevice_Args& args) { return DevicesOf(args.memory); }
Devices Touched(const PJRT_AsyncHostToDeviceTransferManager_TransferData_Args& args) {
  return DevicesOf(args.transfer_manager);
}
Devices Touched(const PJRT_AsyncHostToDeviceTransferManager_TransferLiteral_Args& args) {
  return DevicesOf(args.transfer_manager);
}
// Which device a program is compiled for is in options that we cannot read. On one that sleeps, the allocator refuses.
Devices Touched(const PJRT_Client_Compile_Args&) { return {}; }
Devices Touched(const PJRT_Executable_DeserializeAndLoad_Args&) { return {}; }

std::string AsleepText(int ordinal) {
  return "[gmlake_jax] device " + std::to_string(ordinal) +
         " is asleep, its memory is given away; call gmlake_jax.wake() before using its arrays";
}

template <typename Args>
PJRT_Error* Refusal(const Args& args) {
  for (PJRT_Device* device : Touched(args)) {
    const int ordinal = device == nullptr ? -1 : OrdinalOf(doors->stock, device);
    if (doors->gate.is_closed(ordinal)) return MakeError(doors->stock, doors->texts, AsleepText(ordinal));
  }
  return nullptr;
}

std::vector<int> OrdinalsOf(const Devices& devices) {
  std::vector<int> ordinals;
  for (PJRT_Device* device : devices) ordinals.push_back(device == nullptr ? -1 : OrdinalOf(doors->stock, device));
  return ordinals;
}

// What a call that has succeeded leaves to be done; most leave nothing that a stream does not show.
template <typename Args>
void Follow(const Args&) {}
void Follow(const PJRT_Buffer_ToHostBuffer_Args& args) {
  doors->transfers.Watch(args.event, OrdinalsOf({DeviceOf(args.src)}));
}
void Follow(const PJRT_Buffer_CopyRawToHost_Args& args) {
  doors->transfers.Watch(args.event, OrdinalsOf(Touched(args)));
}
void Follow(const PJRT_Buffer_CopyRawToHostFuture_Args& args) {
  doors->transfers.Watch(args.event, OrdinalsOf(Touched(args)));
}
void Follow(const PJRT_Buffer_CopyToDevice_Args& args) {
  doors->transfers.WatchBuffer(args.dst_buffer, OrdinalsOf(Touched(args)));
}
void Follow(const PJRT_Buffer_CopyToMemory_Args& args) {
  doors->transfers.WatchBuffer(args.dst_buffer, OrdinalsOf(Touched(args)));
}
void Follow(const PJRT_Client_BufferFromHostBuffer_Args& args) {
  doors->transfers.WatchBuffer(args.buffer, OrdinalsOf({DeviceOf(args.buffer)}));
}
void Follow(const PJRT_AsyncHostToDeviceTransferManager_TransferData_Args& args) {
  doors->transfers.Watch(args.done_with_h2d_transfer, OrdinalsOf(Touched(args)));
}
void Follow(const PJRT_AsyncHostToDeviceTransferManager_TransferLiteral_Args& args) {
  doors->transfers.Watch(args.done_with_h2d_transfer, OrdinalsOf(Touched(args)));
}

template <auto kEntry, typename Args>
PJRT_Error* Guarded(Args* args) {
  const SleepGate::Passage passage(&doors->gate);
  if (!passage.all_open()) {
    if (PJRT_Error* const refused = Refusal(*args)) return refused;
  }
  PJRT_Error* const error = (doors->stock.*kEntry)(args);
  if (error == nullptr) Follow(*args);
  return error;
}

PJRT_Error* StockToHostBuffer(PJRT_Buffer_ToHostBuffer_Args* args) {
  PJRT_Error* const error = doors->stock.PJRT_Buffer_ToHostBuffer(args);
  if (error == nullptr && args->dst != nullptr) Follow(*args);
  return error;
}

// What is read is on the host already. Asking for the size alone touches no device.
PJRT_Error* ToHostBuffer(PJRT_Buffer_ToHostBuffer_Args* args) {
  const SleepGate::Passage passage(&doors->gate);
  if (passage.all_open() || args->dst == nullptr) return StockToHostBuffer(args);
  PJRT_Device* const device = DeviceOf(args->src);
  const int ordinal = device == nullptr ? -1 : OrdinalOf(doors->stock, device);
  if (!doors->gate.is_closed(ordinal)) return StockToHostBuffer(args);
  ServedDevice* const served = doors->registry->Find(ordinal);
  if (served != nullptr && ReadSleeping(doors->stock, served, args)) return nullptr;
  return MakeError(doors->stock, doors->texts, AsleepText(ordinal));
}

PJRT_Error* IncreaseReferences(PJRT_Buffer_IncreaseExternalReferenceCount_Args* args) {
  PJRT_Error* const error = Guarded<&PJRT_Api::PJRT_Buffer_IncreaseExternalReferenceCount>(args);
  if (error == nullptr) doors->shared.Add(args->buffer);
  return error;
}

PJRT_Error* DecreaseReferences(PJRT_Buffer_DecreaseExternalReferenceCount_Args* args) {
  doors->shared.Drop(args->buffer);
  return doors->stock.PJRT_Buffer_DecreaseExternalReferenceCount(args);
}

// An older plugin's table may end before the entry.
template <typename Function>
bool Has(const PJRT_Api& api, Function* const& entry) {
  const auto end = reinterpret_cast<const char*>(&entry + 1) - reinterpret_cast<const char*>(&api);
  return end <= static_cast<std::ptrdiff_t>(api.struct_size) && entry != nullptr;
}

template <typename Function>
Status Put(PJRT_Api* api, Function** entry, Function* ours) {
  return Has(*api, *entry) ? Overwrite(entry, ours) : OkStatus();
}

// Calls `put(entry, ours)` for every door.
template <typename Visit>
Status ForEachDoor(Visit visit) {
#define GMLAKE_DOOR(name) visit(&PJRT_Api::name, &Guarded<&PJRT_Api::name, name##_Args>)
  for (const Status& status :
       {GMLAKE_DOOR(PJRT_LoadedExecutable_Execute), visit(&PJRT_Api::PJRT_Buffer_ToHostBuffer, &ToHostBuffer),
        GMLAKE_DOOR(PJRT_Buffer_CopyRawToHost), GMLAKE_DOOR(PJRT_Buffer_CopyRawToHostFuture),
        GMLAKE_DOOR(PJRT_Buffer_CopyToDevice), GMLAKE_DOOR(PJRT_Buffer_CopyToMemory),
        GMLAKE_DOOR(PJRT_Client_BufferFromHostBuffer), GMLAKE_DOOR(PJRT_Client_CreateUninitializedBuffer),
        GMLAKE_DOOR(PJRT_Client_CreateBuffersForAsyncHostToDevice),
        GMLAKE_DOOR(PJRT_AsyncHostToDeviceTransferManager_TransferData),
        GMLAKE_DOOR(PJRT_AsyncHostToDeviceTransferManager_TransferLiteral), GMLAKE_DOOR(PJRT_Client_Compile),
        GMLAKE_DOOR(PJRT_Executable_DeserializeAndLoad),
        visit(&PJRT_Api::PJRT_Buffer_IncreaseExternalReferenceCount, &IncreaseReferences),
        visit(&PJRT_Api::PJRT_Buffer_DecreaseExternalReferenceCount, &DecreaseReferences)}) {
    if (!status.ok()) return status;
  }
#undef GMLAKE_DOOR
  return OkStatus();
}

Address AddressOf(PJRT_Buffer* buffer) {
  PJRT_Buffer_OpaqueDeviceMemoryDataPointer_Args args = {};
  args.struct_size = PJRT_Buffer_OpaqueDeviceMemoryDataPointer_Args_STRUCT_SIZE;
  args.buffer = buffer;
  const Status asked = TakeError(doors->stock, doors->stock.PJRT_Buffer_OpaqueDeviceMemoryDataPointer(&args));
  return asked.ok() ? Address(reinterpret_cast<uint64_t>(args.device_memory_ptr)) : Address();
}

std::string Hexadecimal(Address address) {
  char text[32];
  std::snprintf(text, sizeof(text), "0x%llx", static_cast<unsigned long long>(address.value()));
  return text;
}

Status SharedWithOthers(ServedDevice* device, const std::vector<Address>& addresses) {
  std::string text = std::to_string(addresses.size()) + " buffers are shared with another library (dlpack):";
  for (size_t i = 0; i < addresses.size() && i < kMostListed; ++i) {
    const Bytes size = device->core().RequestedSize(addresses[i]).value_or(Bytes());
    text += (i == 0 ? " " : ", ") + ToString(size) + " at " + Hexadecimal(addresses[i]);
  }
  if (addresses.size() > kMostListed) text += ", ...";
  return Status(StatusCode::kFailedPrecondition, text + "; delete what was made of them and try again");
}

}  // namespace

void PrepareSleepEntries(const PJRT_Api& stock, DeviceRegistry* registry, ErrorTexts* texts) {
  doors = new Doors;
  doors->stock = stock;
  doors->registry = registry;
  doors->texts = texts;
}

Status WrapSleepEntries(PJRT_Api* api) {
  return ForEachDoor([&](auto entry, auto ours) { return Put(api, &(api->*entry), ours); });
}

void RestoreSleepEntries(PJRT_Api* api) {
  ForEachDoor([&](auto entry, auto) { return Put(api, &(api->*entry), doors->stock.*entry); }).IgnoreError();
}

std::vector<Address> SharedAddresses(ServedDevice* device) {
  std::vector<Address> addresses;
  for (PJRT_Buffer* buffer : doors->shared.All()) {
    const Address address = AddressOf(buffer);
    if (device->core().Owns(address)) addresses.push_back(address);
  }
  return addresses;
}

// One at a time: who is refused opens the doors again, and must not do so to another who is just closing them.
StatusOr<SleepReport> SleepDevice(ServedDevice* device, const SleepRequest& request) {
  const std::lock_guard<std::mutex> lock(device->sleep_mutex());
  if (device->core().IsAsleep()) return Status(StatusCode::kFailedPrecondition, "the device is asleep already");
  const Status closed = doors->gate.Close(device->ordinal(), request.patience);
  if (!closed.ok()) return closed;
  const std::vector<Address> shared = SharedAddresses(device);
  StatusOr<SleepReport> report =
      shared.empty() ? device->core().Sleep(request) : StatusOr<SleepReport>(SharedWithOthers(device, shared));
  if (!device->core().IsAsleep()) doors->gate.Open(device->ordinal());
  return report;
}

StatusOr<SleepReport> WakeDevice(ServedDevice* device) {
  const std::lock_guard<std::mutex> lock(device->sleep_mutex());
  StatusOr<SleepReport> report = device->core().Wake();
  if (report.ok()) doors->gate.Open(device->ordinal());
  return report;
}

void WakeAll() {
  for (ServedDevice* device : doors->registry->Devices()) WakeDevice(device).status().IgnoreError();
}

}  // namespace gmlake
