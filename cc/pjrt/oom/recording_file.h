// Names the files of recordings that GMLAKE_RECORD writes without a call of the program.
#ifndef GMLAKE_PJRT_OOM_RECORDING_FILE_H_
#define GMLAKE_PJRT_OOM_RECORDING_FILE_H_

#include <string>

#include "cc/base/status.h"
#include "cc/pjrt/devices/served_device.h"

namespace gmlake {

// "a.npz" for device 0, "a-gpu1.npz" for device 1; "%p" becomes the process id.
std::string RecordingPath(const std::string& path, int ordinal);

// What is recorded of the device so far and its state now; nothing where it is not recorded.
Status WriteRecording(ServedDevice* device, const std::string& path);

}  // namespace gmlake

#endif  // GMLAKE_PJRT_OOM_RECORDING_FILE_H_
