// The devices that we serve, and which of them a pool or an address belongs to.
//
// XLA's cuda_async allocator allocates from the device's default pool, and nothing else of XLA does: collective memory
// and separate temporary buffers come from elsewhere. So the pool in a request names the device, and the driver need
// not be asked for the current device.
#ifndef GMLAKE_PJRT_DEVICES_DEVICE_REGISTRY_H_
#define GMLAKE_PJRT_DEVICES_DEVICE_REGISTRY_H_

#include <array>
#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "cc/base/mutex.h"
#include "cc/base/status.h"
#include "cc/driver/driver.h"
#include "cc/pjrt/devices/housekeeper.h"
#include "cc/pjrt/devices/options.h"
#include "cc/pjrt/devices/served_device.h"

namespace gmlake {

// Model: a list of served devices that only grows. Invariant: a device in the list is complete and stays for good.
// Threads: any; requests read the list without a lock, Serve appends under one. Cost of a look-up: a few nanoseconds.
class DeviceRegistry {
 public:
  static constexpr int kMaxDevices = 64;

  explicit DeviceRegistry(Options options);
  ~DeviceRegistry();

  // Makes these devices, or with an empty list all of the process, ready to be served: all of them or, on failure, no
  // new one. A device that is served already stays as it is. Loads the driver at the first call.
  Status Serve(const std::vector<int>& ordinals, const ClientWishes& wishes = {});

  // Null where the pool or ordinal is none of ours.
  ServedDevice* ForPool(const void* pool) const;
  ServedDevice* Find(int ordinal) const;
  // Takes back a lease, whichever device it is of. False: it is none of ours, and nothing was done.
  bool Free(void* pointer, StreamHandle stream) const;
  // Whether it is a lease of one of the devices.
  bool Owns(const void* pointer) const;
  // To be called before `stream`, of whichever device, is destroyed.
  void RetireStream(StreamHandle stream) const;

  std::vector<ServedDevice*> Devices() const;
  int num_devices() const { return count_.load(std::memory_order_acquire); }

  // Gives all idle memory back to the devices.
  void ReleaseIdleMemory() const;
  // The same and the host's, after the last client is gone.
  void Retire() const;
  // The process ends: no more work in the background.
  void StopHousekeeping();

 private:
  Status LoadDriver() GMLAKE_REQUIRES(mutex_);
  StatusOr<std::vector<std::unique_ptr<ServedDevice>>> OpenMissing(const std::vector<int>& ordinals,
                                                                   const Options& options) const
      GMLAKE_REQUIRES(mutex_);
  bool IsWanted(const CudaDevice& device, const std::vector<int>& ordinals) const;
  void Append(std::unique_ptr<ServedDevice> device);
  void StartHousekeeping() GMLAKE_REQUIRES(mutex_);

  const Options options_;

  Mutex mutex_;  // for Serve
  std::unique_ptr<CudaFunctions> cuda_ GMLAKE_GUARDED_BY(mutex_);
  std::vector<CudaDevice> visible_ GMLAKE_GUARDED_BY(mutex_);
  std::unique_ptr<Housekeeper> housekeeper_ GMLAKE_GUARDED_BY(mutex_);

  std::array<const void*, kMaxDevices> pools_{};
  std::array<std::unique_ptr<ServedDevice>, kMaxDevices> devices_;
  std::atomic<int> count_{0};  // entries below it are complete
};

}  // namespace gmlake

#endif  // GMLAKE_PJRT_DEVICES_DEVICE_REGISTRY_H_
