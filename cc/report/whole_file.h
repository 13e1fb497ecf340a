// Writes a file whole or not at all; the one writer of files of the C++ side, as gmlake_jax/output.py is Python's.
#ifndef GMLAKE_REPORT_WHOLE_FILE_H_
#define GMLAKE_REPORT_WHOLE_FILE_H_

#include <string>

#include "cc/base/status.h"

namespace gmlake {

// Puts `content` into `path`. A temporary file of a name that nobody else has, made with O_EXCL in the same folder,
// takes the place of `path` when it is complete: readers see the old file or the new one, and several writers never
// disturb each other. A link at `path` is replaced, not followed; a device, a pipe or a folder there is an error.
Status WriteWholeFile(const std::string& path, const std::string& content);

}  // namespace gmlake

#endif  // GMLAKE_REPORT_WHOLE_FILE_H_
