// How much host memory this process may still take: of the machine, and of the container that it runs in.
#ifndef GMLAKE_DRIVER_HOST_MEMORY_H_
#define GMLAKE_DRIVER_HOST_MEMORY_H_

#include <string>

#include "cc/base/bytes.h"

namespace gmlake {

// As the kernel says it now; page-locked memory must stay below, or the kernel ends a process to find more.
Bytes AvailableHostMemory();

// The same with all files under `root`, for tests.
Bytes AvailableHostMemoryUnder(const std::string& root);

}  // namespace gmlake

#endif  // GMLAKE_DRIVER_HOST_MEMORY_H_
