// Why a request could not be met: what was asked for, what there is, and who has it. Pure functions of what was there.
#ifndef GMLAKE_REPORT_OOM_EVENT_H_
#define GMLAKE_REPORT_OOM_EVENT_H_

#include <string>
#include <vector>

#include "cc/base/bytes.h"
#include "cc/telemetry/history.h"
#include "cc/telemetry/stats.h"

namespace gmlake {

// A process that uses the device, as the driver's management library (NVML) tells.
struct DeviceProcess {
  int64_t pid = 0;
  std::string name;
  Bytes used;
  bool is_this = false;
};

// A refused request, and the device as it was then.
struct OomEvent {
  int device = 0;
  std::string device_name;
  Bytes asked;
  std::string reason;  // the allocator's words for it; may be empty
  std::string label;   // of the thread that asked: the annotations and the executable, where known
  Snapshot snapshot;
  std::vector<std::string> labels;  // what the annotations' numbers stand for
  std::vector<DeviceProcess> processes;
  int64_t earlier = 0;  // refusals before this one that the program never noticed
  std::string saved;    // where snapshot and report were saved; empty: nowhere
};

// What made the request fail.
enum class Cause {
  kLimit,     // even all of the limit would not be enough beside what is live
  kDevice,    // the limit would allow it, the device has no more to give
  kScattered  // there are bytes enough, but not in pieces that one range can be made of
};
Cause CauseOf(Bytes asked, const AllocatorStats& stats);

// One line for an error message.
std::string DescribeOomEvent(const OomEvent& oom_event);

// One screen.
std::string Report(const OomEvent& oom_event);

}  // namespace gmlake

#endif  // GMLAKE_REPORT_OOM_EVENT_H_
