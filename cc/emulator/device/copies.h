// Copies and fills as operations: these are real, kernels are not.
#ifndef GMLAKE_EMULATOR_DEVICE_COPIES_H_
#define GMLAKE_EMULATOR_DEVICE_COPIES_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "cc/emulator/calls/cuda_api.h"
#include "cc/emulator/device/operation.h"

namespace gmlake::emulator {

// One end of a copy. `device` is the device that reaches the memory, or kHost for pageable host memory.
struct End {
  static constexpr int kHost = -1;
  uint64_t address;
  int device;
};

End OnDevice(uint64_t address, int device);
End OnHost(const void* address);
// What the address itself tells: memory that the driver made, or pageable host memory.
End OnEither(uint64_t address, int device);

Operation CopyOperation(const char* what, End to, End from, size_t size);
Operation CopyOperation(const CUDA_MEMCPY3D& copy, int device);
// `element` is 1, 2 or 4 bytes; `pitch` matters only where there are several rows.
Operation FillOperation(const CUDA_MEMSET_NODE_PARAMS& fill, int device);

// CUDA_SUCCESS, or what an H200 answers at once if an end does not lie in live memory within reach.
CUresult CheckAtCall(const Operation& operation);

}  // namespace gmlake::emulator

#endif  // GMLAKE_EMULATOR_DEVICE_COPIES_H_
