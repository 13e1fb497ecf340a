#include "cc/pjrt/c_api_util.h"

#include <algorithm>
#include <cstring>

#include "cc/pjrt/install/installation.h"
#include "cc/pjrt/patch/fork_guard.h"

namespace gmlake {
namespace {

// The devices, but none in a forked child, where their locks may be held for ever.
std::vector<ServedDevice*> UsableDevices() {
  if (InForkedChild()) return {};
  DeviceRegistry* registry = Installation::Instance().registry();
  if (registry == nullptr) return {};
  std::vector<ServedDevice*> devices = registry->Devices();
  const auto unverified = [](const ServedDevice* device) { return !device->is_verified(); };
  devices.erase(std::remove_if(devices.begin(), devices.end(), unverified), devices.end());
  return devices;
}

}  // namespace

ServedDevice* FindDevice(int ordinal) {
  for (ServedDevice* device : UsableDevices()) {
    if (device->ordinal() == ordinal) return device;
  }
  return nullptr;
}

std::vector<int> ServedOrdinals() {
  std::vector<int> ordinals;
  for (const ServedDevice* device : UsableDevices()) ordinals.push_back(device->ordinal());
  return ordinals;
}

Status NotServed(int ordinal) {
  return {StatusCode::kInvalidArgument, "gmlake_jax serves no device " + std::to_string(ordinal) + " in this process"};
}

void CopyText(const std::string& text, char* target, size_t size) {
  if (target == nullptr || size == 0) return;
  const size_t count = std::min(text.size(), size - 1);
  std::memcpy(target, text.data(), count);
  target[count] = '\0';
}

int Answer(const Status& status, char* message, size_t size) {
  CopyText(status.message(), message, size);
  return status.ok() ? 0 : -1;
}

}  // namespace gmlake
