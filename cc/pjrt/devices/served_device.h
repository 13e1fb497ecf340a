// One served device: its driver, core allocator and tsl::Allocator.
#ifndef GMLAKE_PJRT_DEVICES_SERVED_DEVICE_H_
#define GMLAKE_PJRT_DEVICES_SERVED_DEVICE_H_

#include <atomic>
#include <chrono>
#include <memory>
#include <string>

#include "cc/base/mutex.h"
#include "cc/base/status.h"
#include "cc/core/allocator.h"
#include "cc/driver/cuda_devices.h"
#include "cc/driver/driver.h"
#include "cc/driver/host_copier.h"
#include "cc/pjrt/devices/options.h"
#include "cc/pjrt/devices/trim_policy.h"
#include "cc/tsl/tsl_allocator.h"

namespace gmlake {

// Model: the layers of one device, made together and kept for the life of the process: XLA's streams and buffers may
// refer to its memory until the very end. Threads: any; nothing changes after Open but the mark of the verification.
class ServedDevice {
 public:
  // Opens the device, tries its memory once for real and, if asked for, takes all of the limit at once.
  static StatusOr<std::unique_ptr<ServedDevice>> Open(const CudaFunctions& cuda, const CudaDevice& device,
                                                      const Options& options);

  int ordinal() const { return device_.ordinal; }
  const std::string& name() const { return device_.name; }
  const std::string& pci_bus_id() const { return device_.pci_bus_id; }
  void* default_pool() const { return device_.default_pool; }
  Allocator& core() { return core_; }
  TslAllocator& allocator() { return allocator_; }
  // Held by whoever puts the device to sleep or wakes it, with its gate.
  Mutex& sleep_mutex() { return sleep_mutex_; }

  StatusOr<DeviceMemory> QueryMemory() { return driver_->QueryMemory(); }

  // Work off the request path, for the housekeeper, which is one thread.
  void Housekeep(std::chrono::steady_clock::time_point now);

  // "device 0: NVIDIA H200, limit 132.9 GiB of 139.8 GiB, blocks: file descriptor, RDMA".
  std::string Describe() const;

  // Set once a request of XLA has been seen to arrive here.
  void MarkVerified() { verified_.store(true); }
  bool is_verified() const { return verified_.load(); }

 private:
  ServedDevice(const CudaFunctions& cuda, const CudaDevice& device, std::unique_ptr<Driver> driver, std::string blocks,
               Bytes limit, const Options& options);

  Status Preallocate();

  const CudaDevice device_;
  const std::string blocks_;
  const Bytes limit_;
  const bool keeps_all_;  // preallocated: nothing goes back unless it is asked for
  const std::unique_ptr<Driver> driver_;
  const std::unique_ptr<HostCopier> copier_;
  Allocator core_;
  TslAllocator allocator_;
  TrimPolicy policy_;
  Mutex sleep_mutex_;
  std::atomic<bool> verified_{false};
};

}  // namespace gmlake

#endif  // GMLAKE_PJRT_DEVICES_SERVED_DEVICE_H_
