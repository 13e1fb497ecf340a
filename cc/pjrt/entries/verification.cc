#include "cc/pjrt/entries/verification.h"

#include <vector>

#include "cc/pjrt/plugin/plugin_client.h"

namespace gmlake {
namespace {

// One buffer of four bytes tells whether XLA's requests for this device arrive at us.
Status VerifyDevice(const PJRT_Api& api, PJRT_Client* client, PJRT_Device* device, DeviceRegistry* registry) {
  ServedDevice* served = registry->Find(OrdinalOf(api, device));
  if (served == nullptr) return Status(StatusCode::kNotSupported, "XLA uses a device that was not prepared");
  const int64_t before = served->core().Stats().num_allocs;
  const Status touched = TouchDevice(api, client, device);
  if (!touched.ok()) return touched;
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

Status VerifyClient(const PJRT_Api& api, PJRT_Client* client, DeviceRegistry* registry) {
  const StatusOr<std::vector<PJRT_Device*>> devices = AddressableDevices(api, client);
  if (!devices.ok()) return devices.status();
  for (PJRT_Device* device : *devices) {
    const Status verified = VerifyDevice(api, client, device, registry);
    if (!verified.ok()) return verified;
  }
  return OkStatus();
}

}  // namespace gmlake
