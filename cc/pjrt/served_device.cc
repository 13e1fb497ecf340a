#include "cc/pjrt/served_device.h"

#include <utility>

#include "cc/driver/cuda_driver.h"
#include "cc/driver/cuda_host_copier.h"

namespace gmlake {
namespace {

Status NoPool(int ordinal) {
  return Status(StatusCode::kNotSupported,
                "device " + std::to_string(ordinal) + " has no stream-ordered memory pool");
}

}  // namespace

StatusOr<std::unique_ptr<ServedDevice>> ServedDevice::Open(const CudaFunctions& cuda, const CudaDevice& device,
                                                           const Options& options) {
  if (device.default_pool == nullptr) return NoPool(device.ordinal);
  const StatusOr<Bytes> limit = ResolveLimit(options, device.total);
  if (!limit.ok()) return limit.status();
  StatusOr<std::unique_ptr<CudaDriver>> driver = CudaDriver::Open(cuda, device.ordinal);
  if (!driver.ok()) return driver.status();
  const Status probed = (*driver)->Probe();
  if (!probed.ok()) return probed;
  std::string blocks = (*driver)->Describe();
  std::unique_ptr<ServedDevice> served(
      new ServedDevice(cuda, device, std::move(*driver), std::move(blocks), *limit));
  const Status preallocated = options.preallocate ? served->Preallocate() : OkStatus();
  if (!preallocated.ok()) return preallocated;
  return served;
}

ServedDevice::ServedDevice(const CudaFunctions& cuda, const CudaDevice& device, std::unique_ptr<Driver> driver,
                           std::string blocks, Bytes limit)
    : device_(device),
      blocks_(std::move(blocks)),
      limit_(limit),
      driver_(std::move(driver)),
      copier_(std::make_unique<CudaHostCopier>(cuda, device.ordinal)),
      core_(driver_.get(), AllocatorOptions{limit, {}, {}, copier_.get()}),
      allocator_(&core_, "gmlake_" + std::to_string(device.ordinal)) {}

// One request of all there is, given back at once, leaves the blocks behind, and no stream that later ones must wait for.
Status ServedDevice::Preallocate() {
  const Bytes all = AlignDown(limit_, driver_->granularity());
  const StatusOr<Address> address = core_.Allocate(all, StreamHandle());
  if (!address.ok()) return address.status();
  core_.Free(*address, StreamHandle());
  core_.ResetPeaks();
  return core_.RetireStream(StreamHandle());
}

std::string ServedDevice::Describe() const {
  return "device " + std::to_string(device_.ordinal) + ": " + device_.name + ", limit " + ToString(limit_) +
         " of " + ToString(device_.total) + ", blocks: " + blocks_;
}

}  // namespace gmlake
