// What can be asked of the driver without making a context: which devices there are and whether they can serve us.
//
// Free of cuda.h, so that layers above may include it.
#ifndef GMLAKE_DRIVER_CUDA_DEVICES_H_
#define GMLAKE_DRIVER_CUDA_DEVICES_H_

#include <string>
#include <vector>

#include "cc/base/bytes.h"
#include "cc/base/status.h"

namespace gmlake {

struct CudaFunctions;

struct CudaDevice {
  int ordinal = 0;
  std::string name;
  std::string pci_bus_id;  // "0000:01:00.0"; empty where the driver does not tell
  Bytes total;
  void* default_pool = nullptr;  // CUmemoryPool; null where the device has no pools
  bool has_virtual_memory = false;
};

// Every device the process may see, in the driver's order. Makes no context and allocates nothing on a device.
StatusOr<std::vector<CudaDevice>> ListCudaDevices(const CudaFunctions& cuda);

// "13.0" for 13000.
std::string CudaDriverVersion(const CudaFunctions& cuda);

}  // namespace gmlake

#endif  // GMLAKE_DRIVER_CUDA_DEVICES_H_
