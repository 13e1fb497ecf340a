#include "cc/pjrt/devices/served_device.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <optional>
#include <utility>

#include "cc/driver/cuda_driver.h"
#include "cc/driver/cuda_host_copier.h"
#include "cc/pjrt/devices/interrupts.h"

namespace gmlake {
namespace {

Status NoPool(int ordinal) {
  return Status(StatusCode::kNotSupported, "device " + std::to_string(ordinal) + " has no stream-ordered memory pool");
}

// XLA drops buffers on threads of its own; this is long enough for those, and short for a request that fails anyway.
constexpr std::chrono::milliseconds kForLateFrees(100);

std::chrono::milliseconds Milliseconds(double seconds) {
  return std::chrono::milliseconds(static_cast<int64_t>(seconds * 1000));
}

AllocatorOptions CoreOptions(Bytes limit, HostCopier* copier, const Options& options) {
  AllocatorOptions core{limit};
  core.copier = copier;
  core.patience.for_leases = kForLateFrees;
  core.patience.for_device = Milliseconds(options.wait_s);
  if (options.interruptible) core.patience.watch_interrupts = &WatchInterrupts;
  return core;
}

constexpr int64_t kPreallocationSteps = 16;

// One line that grows on a terminal; elsewhere only the end of it.
void ShowProgress(int ordinal, Bytes done, Bytes all) {
  const bool is_terminal = isatty(fileno(stderr)) == 1;
  if (!is_terminal && done < all) return;
  std::fprintf(stderr, "%sgmlake_jax: device %d: %s of %s taken in advance%s", is_terminal ? "\r" : "", ordinal,
               ToString(done).c_str(), ToString(all).c_str(), done < all ? "" : "\n");
}

}  // namespace

StatusOr<std::unique_ptr<ServedDevice>> ServedDevice::Open(const CudaFunctions& cuda, const CudaDevice& device,
                                                           const Options& options) {
  if (device.default_pool == nullptr) return NoPool(device.ordinal);
  GMLAKE_ASSIGN_OR_RETURN(const Bytes limit, ResolveLimit(options, device.total));
  GMLAKE_ASSIGN_OR_RETURN(std::unique_ptr<CudaDriver> driver, CudaDriver::Open(cuda, device.ordinal));
  GMLAKE_RETURN_IF_ERROR((driver)->Probe());
  std::string blocks = (driver)->Describe();
  std::unique_ptr<ServedDevice> served(
      new ServedDevice(cuda, device, std::move(driver), std::move(blocks), limit, options));
  if (!options.record_path.empty()) served->core().Record(options.record_events);
  GMLAKE_RETURN_IF_ERROR(options.preallocate ? served->Preallocate() : OkStatus());
  return served;
}

ServedDevice::ServedDevice(const CudaFunctions& cuda, const CudaDevice& device, std::unique_ptr<Driver> driver,
                           std::string blocks, Bytes limit, const Options& options)
    : device_(device),
      blocks_(std::move(blocks)),
      limit_(limit),
      keeps_all_(options.preallocate),
      driver_(std::move(driver)),
      copier_(std::make_unique<CudaHostCopier>(cuda, device.ordinal)),
      core_(driver_.get(), CoreOptions(limit, copier_.get(), options)),
      allocator_(&core_, "gmlake_" + std::to_string(device.ordinal)),
      policy_(Milliseconds(options.idle_trim_s), DefaultReserve(device.total) / 2) {}

// In steps, so that people see it going on.
Status ServedDevice::Preallocate() {
  const Bytes all = AlignDown(limit_, driver_->granularity());
  const Bytes step = AlignUp(all / kPreallocationSteps, driver_->granularity());
  Status status;
  for (Bytes held = step; status.ok() && held < all + step; held += step) {
    status = core_.Preallocate(std::min(held, all));
    ShowProgress(device_.ordinal, std::min(held, all), all);
  }
  return status;
}

void ServedDevice::Housekeep(std::chrono::steady_clock::time_point now) {
  core_.Maintain();
  if (keeps_all_ || !policy_.IsDue(now)) return;
  const StatusOr<DeviceMemory> device = driver_->QueryMemory();
  const std::optional<Bytes> free = device.ok() ? std::optional<Bytes>(device->free) : std::nullopt;
  const std::optional<Bytes> target = policy_.Observe(now, core_.TakeDemand(), free);
  if (target.has_value()) core_.Trim(*target);
}

std::string ServedDevice::Describe() const {
  return "device " + std::to_string(device_.ordinal) + ": " + device_.name + ", limit " + ToString(limit_) + " of " +
         ToString(device_.total) + ", blocks: " + blocks_;
}

}  // namespace gmlake
