// Which processes use a device, by NVIDIA's management library (NVML), where it is installed.
//
// Loaded with dlopen when first asked, and only when something has gone wrong; nothing depends on its answer.
#ifndef GMLAKE_DRIVER_DEVICE_PROCESSES_H_
#define GMLAKE_DRIVER_DEVICE_PROCESSES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "cc/base/bytes.h"

namespace gmlake {

struct ProcessUse {
  int64_t pid = 0;
  std::string name;  // "a process" where it cannot be told, as from inside a container
  Bytes used;
};

// Those with the most memory first; empty where NVML is missing or does not answer. Takes some milliseconds.
std::vector<ProcessUse> ProcessesOn(const std::string& pci_bus_id);

}  // namespace gmlake

#endif  // GMLAKE_DRIVER_DEVICE_PROCESSES_H_
