#include "cc/pjrt/sleep/sleeping_reader.h"

#include <algorithm>
#include <optional>
#include <vector>

namespace gmlake {
namespace {

using Order = std::vector<int64_t>;  // dimensions, from the one that changes fastest

std::optional<Order> OrderOf(const PJRT_Buffer_MemoryLayout& layout) {
  if (layout.type != PJRT_Buffer_MemoryLayout_Type_Tiled || layout.tiled.num_tiles != 0) return std::nullopt;
  return Order(layout.tiled.minor_to_major, layout.tiled.minor_to_major + layout.tiled.minor_to_major_size);
}

// No layout asked for means that of the device.
bool SameOrder(const PluginClient& plugin, const PJRT_Buffer_ToHostBuffer_Args& args) {
  const std::optional<PJRT_Buffer_MemoryLayout> layout = plugin.LayoutOf(args.src);
  const std::optional<Order> device = layout.has_value() ? OrderOf(*layout) : std::nullopt;
  if (!device.has_value()) return false;
  return args.host_layout == nullptr || OrderOf(*args.host_layout) == device;
}

}  // namespace

bool ReadSleeping(const PluginClient& plugin, ServedDevice* device, PJRT_Buffer_ToHostBuffer_Args* args) {
  const std::optional<size_t> size = plugin.SizeOf(args->src);
  if (!size.has_value() || *size != args->dst_size || !SameOrder(plugin, *args)) return false;
  const Bytes bytes(static_cast<int64_t>(*size));
  if (!device->core().ReadAsleep(plugin.AddressOf(args->src), bytes, static_cast<char*>(args->dst))) return false;
  // The buffer itself is ready: the device was idle when it fell asleep.
  const StatusOr<PJRT_Event*> ready = plugin.ReadyEvent(args->src);
  args->event = ready.ok() ? *ready : nullptr;
  return args->event != nullptr;
}

}  // namespace gmlake
