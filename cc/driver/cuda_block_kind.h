// Which properties the physical blocks of a device are created with: the ways to share them, fixed at creation for
// good.
//
// Rationale. A consumer outside JAX (UCX, NCCL registration, RDMA) can export or register a block only if it was
// created for that, and fails or becomes silently slow otherwise. So the widest kind that the device really takes is
// chosen, as XLA's own allocators do: fabric and file descriptor, file descriptor alone, neither; each with RDMA where
// possible.
//
// Approach. The device's attributes are not believed: on WSL2 a block made for RDMA is created and then refuses access.
// Each kind is tried on one granule, from create to access, and the first that works is taken.
//
// Limits. Measured on an H200 with blocks of 2 MiB: a file descriptor appears when a block is exported, not when it is
// created, so many blocks cost none, and being exportable costs no time; RDMA costs 5.5 us more for each mapping and
// 4.5 us for each unmapping, of some 33 and 23. That is paid so that what leaves JAX by dlpack is what it would be
// under XLA's own allocators. A kind that works for one granule can still fail for one large block (WSL2, from 4 GiB):
// CudaDriver::Create then goes down the ladder for that one block.
#ifndef GMLAKE_DRIVER_CUDA_BLOCK_KIND_H_
#define GMLAKE_DRIVER_CUDA_BLOCK_KIND_H_

#include <string>
#include <vector>

#include "cc/base/status.h"
#include "cc/driver/cuda_functions.h"

namespace gmlake {

struct CudaBlockKind {
  bool fabric = false;
  bool file_descriptor = false;
  bool rdma = false;
};

std::string ToString(CudaBlockKind kind);

CUmemAllocationProp BlockProperties(CUdevice device, CudaBlockKind kind);

// The kinds that the device's attributes promise, widest first; the last one asks for nothing.
std::vector<CudaBlockKind> BlockKindLadder(const CudaFunctions& cuda, CUdevice device);

// Create, map, give access, unmap of one granule. The device's context must be current.
Status TryBlockKind(const CudaFunctions& cuda, CUdevice device, CudaBlockKind kind, size_t granule);

}  // namespace gmlake

#endif  // GMLAKE_DRIVER_CUDA_BLOCK_KIND_H_
