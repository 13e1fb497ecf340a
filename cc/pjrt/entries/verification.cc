#include "cc/pjrt/entries/verification.h"

namespace gmlake {
namespace {

// One buffer of four bytes tells whether XLA's requests for this device arrive at us.
Status VerifyDevice(const PluginClient& plugin, PJRT_Client* client, PJRT_Device* device, DeviceRegistry* registry) {
  ServedDevice* served = registry->Find(plugin.OrdinalOf(device));
  if (served == nullptr) return Status(StatusCode::kNotSupported, "XLA uses a device that was not prepared");
  const int64_t before = served->core().Stats().num_allocs;
  GMLAKE_RETURN_IF_ERROR(plugin.TouchDevice(client, device));
  if (served->core().Stats().num_allocs == before) {
    return Status(StatusCode::kNotSupported,
                  "XLA took another allocator than the one it was asked for, as it does under "
                  "--xla_gpu_command_buffer_update_mode; remove that flag from XLA_FLAGS");
  }
  served->core().ResetPeaks();
  served->MarkVerified();
  return OkStatus();
}

}  // namespace

Status VerifyClient(const PluginClient& plugin, PJRT_Client* client, DeviceRegistry* registry) {
  GMLAKE_ASSIGN_OR_RETURN(const Devices devices, plugin.AddressableDevices(client));
  for (PJRT_Device* device : devices) {
    GMLAKE_RETURN_IF_ERROR(VerifyDevice(plugin, client, device, registry));
  }
  return OkStatus();
}

}  // namespace gmlake
