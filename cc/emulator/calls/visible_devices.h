// CUDA_VISIBLE_DEVICES: which of the machine's devices a process sees, and in which order.
#ifndef GMLAKE_EMULATOR_CALLS_VISIBLE_DEVICES_H_
#define GMLAKE_EMULATOR_CALLS_VISIBLE_DEVICES_H_

#include <string>
#include <vector>

namespace gmlake::emulator {

// A device's UUID as nvidia-smi writes it. `number` is the device's place in the machine.
std::string UuidText(int number);

// The numbers of the devices that a process sees. `list` is the variable's value; null: all. As in CUDA, devices are
// named by number or by the beginning of their UUID, what stands behind a name that is no device is not seen, and a
// list that names a device twice shows none.
std::vector<int> VisibleDevices(const char* list, int installed);

}  // namespace gmlake::emulator

#endif  // GMLAKE_EMULATOR_CALLS_VISIBLE_DEVICES_H_
