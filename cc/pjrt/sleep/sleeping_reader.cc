#include "cc/pjrt/sleep/sleeping_reader.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "cc/pjrt/plugin/plugin_client.h"

namespace gmlake {
namespace {

using Order = std::vector<int64_t>;  // dimensions, from the one that changes fastest

std::optional<Order> OrderOf(const PJRT_Buffer_MemoryLayout& layout) {
  if (layout.type != PJRT_Buffer_MemoryLayout_Type_Tiled || layout.tiled.num_tiles != 0) return std::nullopt;
  return Order(layout.tiled.minor_to_major, layout.tiled.minor_to_major + layout.tiled.minor_to_major_size);
}

std::optional<Order> DeviceOrder(const PJRT_Api& stock, PJRT_Buffer* buffer) {
  PJRT_Buffer_GetMemoryLayout_Args args = {};
  args.struct_size = PJRT_Buffer_GetMemoryLayout_Args_STRUCT_SIZE;
  args.buffer = buffer;
  if (!TakeError(stock, stock.PJRT_Buffer_GetMemoryLayout(&args)).ok()) return std::nullopt;
  return OrderOf(args.layout);
}

// No layout asked for means that of the device.
bool SameOrder(const PJRT_Api& stock, const PJRT_Buffer_ToHostBuffer_Args& args) {
  const std::optional<Order> device = DeviceOrder(stock, args.src);
  if (!device.has_value()) return false;
  return args.host_layout == nullptr || OrderOf(*args.host_layout) == device;
}

std::optional<size_t> DeviceSize(const PJRT_Api& stock, PJRT_Buffer* buffer) {
  PJRT_Buffer_OnDeviceSizeInBytes_Args args = {};
  args.struct_size = PJRT_Buffer_OnDeviceSizeInBytes_Args_STRUCT_SIZE;
  args.buffer = buffer;
  if (!TakeError(stock, stock.PJRT_Buffer_OnDeviceSizeInBytes(&args)).ok()) return std::nullopt;
  return args.on_device_size_in_bytes;
}

void* AddressOf(const PJRT_Api& stock, PJRT_Buffer* buffer) {
  PJRT_Buffer_OpaqueDeviceMemoryDataPointer_Args args = {};
  args.struct_size = PJRT_Buffer_OpaqueDeviceMemoryDataPointer_Args_STRUCT_SIZE;
  args.buffer = buffer;
  return TakeError(stock, stock.PJRT_Buffer_OpaqueDeviceMemoryDataPointer(&args)).ok() ? args.device_memory_ptr
                                                                                       : nullptr;
}

// That of the buffer itself, which is ready: the device was idle when it fell asleep.
PJRT_Event* ReadyEvent(const PJRT_Api& stock, PJRT_Buffer* buffer) {
  PJRT_Buffer_ReadyEvent_Args args = {};
  args.struct_size = PJRT_Buffer_ReadyEvent_Args_STRUCT_SIZE;
  args.buffer = buffer;
  return TakeError(stock, stock.PJRT_Buffer_ReadyEvent(&args)).ok() ? args.event : nullptr;
}

}  // namespace

bool ReadSleeping(const PJRT_Api& stock, ServedDevice* device, PJRT_Buffer_ToHostBuffer_Args* args) {
  const std::optional<size_t> size = DeviceSize(stock, args->src);
  if (!size.has_value() || *size != args->dst_size || !SameOrder(stock, *args)) return false;
  const Address address(reinterpret_cast<uint64_t>(AddressOf(stock, args->src)));
  const Bytes bytes(static_cast<int64_t>(*size));
  if (!device->core().ReadAsleep(address, bytes, static_cast<char*>(args->dst))) return false;
  args->event = ReadyEvent(stock, args->src);
  return args->event != nullptr;
}

}  // namespace gmlake
