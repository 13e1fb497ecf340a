#include "cc/pjrt/gates/gated_entries.h"

#include <string>

#include "cc/pjrt/plugin/error_maker.h"
#include "cc/pjrt/plugin/plugin_client.h"

namespace gmlake {

GatedEntries* gated = nullptr;

PJRT_Device* DeviceOf(PJRT_Buffer* buffer) {
  PJRT_Buffer_Device_Args args = {};
  args.struct_size = PJRT_Buffer_Device_Args_STRUCT_SIZE;
  args.buffer = buffer;
  return TakeError(gated->stock, gated->stock.PJRT_Buffer_Device(&args)).ok() ? args.device : nullptr;
}

Devices DevicesOf(PJRT_Memory* memory) {
  PJRT_Memory_AddressableByDevices_Args args = {};
  args.struct_size = PJRT_Memory_AddressableByDevices_Args_STRUCT_SIZE;
  args.memory = memory;
  if (memory == nullptr) return {};
  if (!TakeError(gated->stock, gated->stock.PJRT_Memory_AddressableByDevices(&args)).ok()) return {};
  return Devices(args.devices, args.devices + args.num_devices);
}

Devices DevicesOf(PJRT_LoadedExecutable* executable) {
  PJRT_LoadedExecutable_AddressableDevices_Args args = {};
  args.struct_size = PJRT_LoadedExecutable_AddressableDevices_Args_STRUCT_SIZE;
  args.executable = executable;
  if (!TakeError(gated->stock, gated->stock.PJRT_LoadedExecutable_AddressableDevices(&args)).ok()) return {};
  return Devices(args.addressable_devices, args.addressable_devices + args.num_addressable_devices);
}

Devices DevicesOf(PJRT_AsyncHostToDeviceTransferManager* manager) {
  PJRT_AsyncHostToDeviceTransferManager_Device_Args args = {};
  args.struct_size = PJRT_AsyncHostToDeviceTransferManager_Device_Args_STRUCT_SIZE;
  args.transfer_manager = manager;
  if (!TakeError(gated->stock, gated->stock.PJRT_AsyncHostToDeviceTransferManager_Device(&args)).ok()) return {};
  return {args.device_out};
}

std::vector<int> OrdinalsOf(const Devices& devices) {
  std::vector<int> ordinals;
  for (PJRT_Device* device : devices) ordinals.push_back(device == nullptr ? -1 : OrdinalOf(gated->stock, device));
  return ordinals;
}

PJRT_Error* Refusal(const Devices& devices) {
  for (int ordinal : OrdinalsOf(devices)) {
    if (gated->gate.is_closed(ordinal)) return RefusalOf(ordinal);
  }
  return nullptr;
}

PJRT_Error* RefusalOf(int ordinal) {
  return MakeError(gated->stock, gated->texts,
                   "[gmlake_jax] device " + std::to_string(ordinal) +
                       " is asleep, its memory is given away; call gmlake_jax.wake() before using its arrays");
}

}  // namespace gmlake
