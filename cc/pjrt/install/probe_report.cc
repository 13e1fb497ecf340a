#include "cc/pjrt/install/probe_report.h"

#include <memory>
#include <vector>

#include "cc/driver/cuda_devices.h"
#include "cc/driver/cuda_driver.h"
#include "cc/driver/cuda_library.h"

namespace gmlake {
namespace {

Status ProbeDevice(const CudaFunctions& cuda, const CudaDevice& device, std::string* found) {
  GMLAKE_ASSIGN_OR_RETURN(std::unique_ptr<CudaDriver> driver, CudaDriver::Open(cuda, device.ordinal));
  *found = "blocks of " + ToString((driver)->granularity()) + ", " + (driver)->Describe();
  return (driver)->Probe();
}

std::string LineOf(const CudaDevice& device, const Status& probed, const std::string& found) {
  const std::string head =
      "device " + std::to_string(device.ordinal) + ": " + device.name + ", " + ToString(device.total) + ": ";
  if (!probed.ok()) return head + "cannot be served: " + probed.message() + "\n";
  return head + "can be served; " + found + "\n";
}

}  // namespace

ProbeReport ProbeDevices(const std::string& driver_path) {
  const StatusOr<CudaFunctions> cuda = LoadCuda(driver_path);
  if (!cuda.ok()) return {false, cuda.status().message() + "\n"};
  const StatusOr<std::vector<CudaDevice>> devices = ListCudaDevices(*cuda);
  if (!devices.ok()) return {false, devices.status().message() + "\n"};
  ProbeReport report{!devices->empty(), "CUDA driver " + CudaDriverVersion(*cuda) + ", " +
                                            std::to_string(devices->size()) + " device(s)\n"};
  for (const CudaDevice& device : *devices) {
    std::string found;
    const Status probed = ProbeDevice(*cuda, device, &found);
    report.all_served = report.all_served && probed.ok();
    report.text += LineOf(device, probed, found);
  }
  return report;
}

}  // namespace gmlake
