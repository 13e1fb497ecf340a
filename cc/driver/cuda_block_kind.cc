#include "cc/driver/cuda_block_kind.h"

#include "cc/driver/cuda_status.h"

namespace gmlake {
namespace {

bool Has(const CudaFunctions& cuda, CUdevice_attribute attribute, CUdevice device) {
  int value = 0;
  return cuda.cuDeviceGetAttribute(&value, attribute, device) == CUDA_SUCCESS && value != 0;
}

std::vector<CudaBlockKind> SharingLadder(bool fabric, bool file_descriptor) {
  std::vector<CudaBlockKind> ladder;
  if (fabric && file_descriptor) ladder.push_back({true, true, false});
  if (file_descriptor) ladder.push_back({false, true, false});
  ladder.push_back({});
  return ladder;
}

Status MapWithAccess(const CudaFunctions& cuda, CUdevice device, CUdeviceptr address, size_t size,
                     CUmemGenericAllocationHandle block) {
  GMLAKE_RETURN_IF_ERROR(ToStatus(cuda, cuda.cuMemMap(address, size, 0, block, 0), "cuMemMap"));
  CUmemAccessDesc access = {};
  access.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  access.location.id = device;
  access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  Status opened = ToStatus(cuda, cuda.cuMemSetAccess(address, size, &access, 1), "cuMemSetAccess");
  const Status unmapped = ToStatus(cuda, cuda.cuMemUnmap(address, size), "cuMemUnmap");
  return opened.ok() ? unmapped : opened;
}

}  // namespace

std::string ToString(CudaBlockKind kind) {
  std::string text = kind.fabric ? "fabric, " : "";
  text += kind.file_descriptor ? "file descriptor" : "not exportable";
  return text + (kind.rdma ? ", RDMA" : "");
}

CUmemAllocationProp BlockProperties(CUdevice device, CudaBlockKind kind) {
  unsigned handle_types = CU_MEM_HANDLE_TYPE_NONE;
  if (kind.fabric) handle_types |= CU_MEM_HANDLE_TYPE_FABRIC;
  if (kind.file_descriptor) handle_types |= CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
  CUmemAllocationProp properties = {};
  properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.requestedHandleTypes = static_cast<CUmemAllocationHandleType>(handle_types);
  properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  properties.location.id = device;
  properties.allocFlags.gpuDirectRDMACapable = kind.rdma ? 1 : 0;
  return properties;
}

std::vector<CudaBlockKind> BlockKindLadder(const CudaFunctions& cuda, CUdevice device) {
  const bool fabric = Has(cuda, CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_FABRIC_SUPPORTED, device);
  const bool descriptor = Has(cuda, CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED, device);
  const bool rdma = Has(cuda, CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WITH_CUDA_VMM_SUPPORTED, device);
  std::vector<CudaBlockKind> ladder;
  for (CudaBlockKind kind : SharingLadder(fabric, descriptor)) {
    if (rdma) ladder.push_back({kind.fabric, kind.file_descriptor, true});
    ladder.push_back(kind);
  }
  return ladder;
}

Status TryBlockKind(const CudaFunctions& cuda, CUdevice device, CudaBlockKind kind, size_t granule) {
  const CUmemAllocationProp properties = BlockProperties(device, kind);
  CUmemGenericAllocationHandle block = 0;
  const CUresult made = cuda.cuMemCreate(&block, granule, &properties, 0);
  if (made != CUDA_SUCCESS) return ToStatus(cuda, made, "cuMemCreate");
  CUdeviceptr address = 0;
  Status tried = ToStatus(cuda, cuda.cuMemAddressReserve(&address, granule, 0, 0, 0), "cuMemAddressReserve");
  if (tried.ok()) {
    tried = MapWithAccess(cuda, device, address, granule, block);
    cuda.cuMemAddressFree(address, granule);
  }
  cuda.cuMemRelease(block);
  return tried;
}

}  // namespace gmlake
