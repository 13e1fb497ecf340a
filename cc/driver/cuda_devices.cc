#include "cc/driver/cuda_devices.h"

#include "cc/driver/cuda_functions.h"
#include "cc/driver/cuda_status.h"

namespace gmlake {
namespace {

bool Has(const CudaFunctions& cuda, CUdevice_attribute attribute, CUdevice device) {
  int value = 0;
  return cuda.cuDeviceGetAttribute(&value, attribute, device) == CUDA_SUCCESS && value != 0;
}

void* DefaultPool(const CudaFunctions& cuda, CUdevice device) {
  CUmemoryPool pool = nullptr;
  if (cuda.cuDeviceGetDefaultMemPool(&pool, device) != CUDA_SUCCESS) return nullptr;
  return pool;
}

StatusOr<CudaDevice> Describe(const CudaFunctions& cuda, int ordinal) {
  CUdevice device = 0;
  GMLAKE_RETURN_IF_ERROR(ToStatus(cuda, cuda.cuDeviceGet(&device, ordinal), "cuDeviceGet"));
  char name[128] = "unknown device";
  cuda.cuDeviceGetName(name, sizeof(name), device);
  char bus_id[32] = "";
  cuda.cuDeviceGetPCIBusId(bus_id, sizeof(bus_id), device);
  size_t total = 0;
  GMLAKE_RETURN_IF_ERROR(ToStatus(cuda, cuda.cuDeviceTotalMem(&total, device), "cuDeviceTotalMem"));
  CudaDevice result;
  result.ordinal = ordinal;
  result.name = name;
  result.pci_bus_id = bus_id;
  result.total = Bytes(static_cast<int64_t>(total));
  result.default_pool = DefaultPool(cuda, device);
  result.has_virtual_memory = Has(cuda, CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED, device);
  return result;
}

}  // namespace

StatusOr<std::vector<CudaDevice>> ListCudaDevices(const CudaFunctions& cuda) {
  int count = 0;
  GMLAKE_RETURN_IF_ERROR(ToStatus(cuda, cuda.cuDeviceGetCount(&count), "cuDeviceGetCount"));
  std::vector<CudaDevice> devices;
  for (int ordinal = 0; ordinal < count; ++ordinal) {
    GMLAKE_ASSIGN_OR_RETURN(CudaDevice device, Describe(cuda, ordinal));
    devices.push_back(device);
  }
  return devices;
}

std::string CudaDriverVersion(const CudaFunctions& cuda) {
  int version = 0;
  if (cuda.cuDriverGetVersion(&version) != CUDA_SUCCESS) return "unknown";
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

}  // namespace gmlake
