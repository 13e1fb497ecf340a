#include "cc/pjrt/oom/recording_file.h"

#include <unistd.h>

#include <utility>

#include "cc/report/history_file.h"
#include "cc/telemetry/labels.h"

namespace gmlake {

std::string RecordingPath(const std::string& path, int ordinal) {
  std::string result = path;
  const size_t pid = result.find("%p");
  if (pid != std::string::npos) result.replace(pid, 2, std::to_string(getpid()));
  if (ordinal == 0) return result;
  const size_t name = result.rfind('/') == std::string::npos ? 0 : result.rfind('/') + 1;
  const size_t dot = result.rfind('.');
  const size_t at = dot == std::string::npos || dot < name ? result.size() : dot;
  return result.insert(at, "-gpu" + std::to_string(ordinal));
}

Status WriteRecording(ServedDevice* device, const std::string& path) {
  Recording recording;
  Snapshot snapshot = device->core().TakeSnapshot(&recording);
  if (recording.start_ns == 0) return OkStatus();
  const HistoryAbout about{device->ordinal(), device->name()};
  return WriteWholeFile(RecordingPath(path, device->ordinal()),
                        EncodeHistory(about, std::move(snapshot), &recording, LabelPaths()));
}

}  // namespace gmlake
