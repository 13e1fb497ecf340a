// The numbers that the emulated device gives of itself: those of an H100, without the features that are not emulated.
#ifndef GMLAKE_EMULATOR_ENTRIES_DEVICE_ATTRIBUTES_H_
#define GMLAKE_EMULATOR_ENTRIES_DEVICE_ATTRIBUTES_H_

#include "cc/emulator/calls/cuda_api.h"

namespace gmlake::emulator {

inline constexpr char kDeviceName[] = "NVIDIA Emulated sm_90";
inline constexpr int kDriverVersion = 13000;

// Of the device with this number in the machine. 0 for attributes that the emulator does not know, which says "not
// supported" for most of them.
int DeviceAttribute(CUdevice_attribute attribute, int number);

}  // namespace gmlake::emulator

#endif  // GMLAKE_EMULATOR_ENTRIES_DEVICE_ATTRIBUTES_H_
