#include "cc/pjrt/devices/device_registry.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <utility>

#include "cc/base/mutex.h"
#include "cc/driver/cuda_functions.h"
#include "cc/driver/cuda_library.h"
#include "cc/pjrt/patch/fork_guard.h"

namespace gmlake {
namespace {

constexpr std::chrono::milliseconds kHousekeepingPeriod(100);

Status NoSuchDevice(int ordinal) {
  return Status(StatusCode::kInvalidArgument, "there is no device " + std::to_string(ordinal));
}

bool Contains(const std::vector<int>& ordinals, int ordinal) {
  return std::find(ordinals.begin(), ordinals.end(), ordinal) != ordinals.end();
}

}  // namespace

DeviceRegistry::DeviceRegistry(Options options) : options_(std::move(options)) {}
DeviceRegistry::~DeviceRegistry() = default;

Status DeviceRegistry::LoadDriver() {
  if (cuda_ != nullptr) return OkStatus();
  WatchForks();
  GMLAKE_ASSIGN_OR_RETURN(CudaFunctions cuda, LoadCuda(options_.driver_path));
  auto functions = std::make_unique<CudaFunctions>(cuda);
  GMLAKE_ASSIGN_OR_RETURN(std::vector<CudaDevice> visible, ListCudaDevices(*functions));
  visible_ = std::move(visible);
  cuda_ = std::move(functions);
  return OkStatus();
}

bool DeviceRegistry::IsWanted(const CudaDevice& device, const std::vector<int>& ordinals) const {
  const bool named = ordinals.empty() || Contains(ordinals, device.ordinal);
  return named && Find(device.ordinal) == nullptr;
}

StatusOr<std::vector<std::unique_ptr<ServedDevice>>> DeviceRegistry::OpenMissing(const std::vector<int>& ordinals,
                                                                                 const Options& options) const {
  for (int ordinal : ordinals) {
    if (ordinal < 0 || ordinal >= static_cast<int>(visible_.size())) return NoSuchDevice(ordinal);
  }
  std::vector<std::unique_ptr<ServedDevice>> opened;
  for (const CudaDevice& device : visible_) {
    if (!IsWanted(device, ordinals)) continue;
    GMLAKE_ASSIGN_OR_RETURN(std::unique_ptr<ServedDevice> served, ServedDevice::Open(*cuda_, device, options));
    opened.push_back(std::move(served));
  }
  return opened;
}

Status DeviceRegistry::Serve(const std::vector<int>& ordinals, const ClientWishes& wishes) {
  GMLAKE_ASSIGN_OR_RETURN(const Options options, Adapted(options_, wishes));
  const MutexLock lock(&mutex_);
  GMLAKE_RETURN_IF_ERROR(LoadDriver());
  if (visible_.size() > kMaxDevices) return Status(StatusCode::kNotSupported, "more devices than we can serve");
  GMLAKE_ASSIGN_OR_RETURN(std::vector<std::unique_ptr<ServedDevice>> opened, OpenMissing(ordinals, options));
  for (std::unique_ptr<ServedDevice>& device : opened) Append(std::move(device));
  if (count_.load() > 0) StartHousekeeping();
  return OkStatus();
}

void DeviceRegistry::Append(std::unique_ptr<ServedDevice> device) {
  const int index = count_.load(std::memory_order_relaxed);
  pools_[index] = device->default_pool();
  if (options_.verbose) std::fprintf(stderr, "gmlake_jax: %s\n", device->Describe().c_str());
  devices_[index] = std::move(device);
  count_.store(index + 1, std::memory_order_release);
}

ServedDevice* DeviceRegistry::ForPool(const void* pool) const {
  const int count = count_.load(std::memory_order_acquire);
  for (int i = 0; i < count; ++i) {
    if (pools_[i] == pool) return devices_[i].get();
  }
  return nullptr;
}

ServedDevice* DeviceRegistry::Find(int ordinal) const {
  const int count = count_.load(std::memory_order_acquire);
  for (int i = 0; i < count; ++i) {
    if (devices_[i]->ordinal() == ordinal) return devices_[i].get();
  }
  return nullptr;
}

// A thread tends to stay with one device, so the one it last met is asked first.
bool DeviceRegistry::Free(void* pointer, StreamHandle stream) const {
  static thread_local int last = 0;
  const int count = count_.load(std::memory_order_acquire);
  for (int tried = 0; tried < count; ++tried) {
    const int index = (last + tried) % count;
    if (!devices_[index]->allocator().FreeOnStream(pointer, stream)) continue;
    last = index;
    return true;
  }
  return false;
}

bool DeviceRegistry::Owns(const void* pointer) const {
  const std::vector<ServedDevice*> devices = Devices();
  const Address address(reinterpret_cast<uint64_t>(pointer));
  return std::any_of(devices.begin(), devices.end(),
                     [address](ServedDevice* device) { return device->core().Owns(address); });
}

void DeviceRegistry::RetireStream(StreamHandle stream) const {
  for (ServedDevice* device : Devices()) device->allocator().RetireStream(stream);
}

std::vector<ServedDevice*> DeviceRegistry::Devices() const {
  std::vector<ServedDevice*> devices;
  const int count = count_.load(std::memory_order_acquire);
  for (int i = 0; i < count; ++i) devices.push_back(devices_[i].get());
  return devices;
}

void DeviceRegistry::ReleaseIdleMemory() const {
  for (ServedDevice* device : Devices()) device->core().Trim(Bytes(0));
}

void DeviceRegistry::Retire() const {
  for (ServedDevice* device : Devices()) device->core().ReleaseHostStore();
  ReleaseIdleMemory();
}

void DeviceRegistry::StartHousekeeping() {
  if (housekeeper_ != nullptr) return;
  const auto maintain = [this] {
    const auto now = std::chrono::steady_clock::now();
    for (ServedDevice* device : Devices()) device->Housekeep(now);
  };
  housekeeper_ = std::make_unique<Housekeeper>(maintain, kHousekeepingPeriod);
}

void DeviceRegistry::StopHousekeeping() {
  const MutexLock lock(&mutex_);
  if (housekeeper_ != nullptr) housekeeper_->Stop();
}

}  // namespace gmlake
