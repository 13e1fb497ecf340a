// What the parts of the C API share.
#ifndef GMLAKE_PJRT_C_API_UTIL_H_
#define GMLAKE_PJRT_C_API_UTIL_H_

#include <stddef.h>

#include <string>
#include <vector>

#include "cc/base/status.h"
#include "cc/pjrt/devices/served_device.h"

namespace gmlake {

// Null for a device that is not served, and in a forked child, where its locks may be held for ever.
ServedDevice* FindDevice(int ordinal);
std::vector<int> ServedOrdinals();

Status NotServed(int ordinal);

void CopyText(const std::string& text, char* target, size_t size);
// 0 or -1, and the status's message in `message`.
int Answer(const Status& status, char* message, size_t size);

}  // namespace gmlake

#endif  // GMLAKE_PJRT_C_API_UTIL_H_
