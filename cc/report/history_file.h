// A snapshot, or a recording with the snapshot at its end, as the npz file that gmlake_jax.history reads.
#ifndef GMLAKE_REPORT_HISTORY_FILE_H_
#define GMLAKE_REPORT_HISTORY_FILE_H_

#include <string>
#include <vector>

#include "cc/report/whole_file.h"  // for those who write what they encode
#include "cc/telemetry/history.h"

namespace gmlake {

// What the file says of where its data come from.
struct HistoryAbout {
  int device = 0;
  std::string device_name;
};

// Times become those of the recording: nanoseconds since it started.
void RebaseTimes(int64_t start_ns, Snapshot* snapshot);

// `recording` may be null: then the file is of the snapshot alone. `labels`: the names behind the annotations' numbers.
std::string EncodeHistory(const HistoryAbout& about, Snapshot snapshot, const Recording* recording,
                          const std::vector<std::string>& labels);

}  // namespace gmlake

#endif  // GMLAKE_REPORT_HISTORY_FILE_H_
