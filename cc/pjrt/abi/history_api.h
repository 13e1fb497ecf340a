// The part of the C API through which a host watches memory: snapshots, recordings, labels, tracks, out-of-memory
// events.
#ifndef GMLAKE_PJRT_ABI_HISTORY_API_H_
#define GMLAKE_PJRT_ABI_HISTORY_API_H_

#include <stddef.h>
#include <stdint.h>

#include "cc/telemetry/history.h"
#include "cc/telemetry/stats.h"
#include "cc/telemetry/tracks.h"

extern "C" {

// Rows of one of the types of cc/telemetry/history.h.
struct GmlakeRows {
  const void* data;
  size_t bytes;
};

// A snapshot of one device and, where it was asked for, its recording up to that instant.
struct GmlakeHistory {
  GmlakeRows ranges;
  GmlakeRows blocks;
  GmlakeRows mappings;
  GmlakeRows leases;
  GmlakeRows events;
  const gmlake::AllocatorStats* stats;
  const char* device_name;
  const char* program;        // as a person would call it: script and arguments
  const char* const* labels;  // what the annotations' numbers stand for
  int64_t num_labels;
  int64_t time_ns;        // of the snapshot; all times are since the recording started, or the snapshot was taken
  int64_t start_unix_ns;  // wall clock at time 0
  int64_t dropped;        // events that the ring has lost
};

// What could not be served. Texts are good for as long as the call lasts.
struct GmlakeOomEvent {
  int device;
  int64_t asked_bytes;
  int64_t bytes_in_use;
  int64_t bytes_limit;
  int64_t largest_servable;
  const char* label;
  const char* report;
};

// What a host may say about memory that ran out. A request is tried again a few times at most.
enum GmlakeOomAnswer : int32_t {
  GMLAKE_NO_RETRY = 0,
  GMLAKE_RETRY = 1,
  GMLAKE_RETRY_MEANWHILE = 2,  // freed for another request, while this one waited; it does not count
};

// Called on the thread that asked for the memory, with no lock of ours or XLA's held; by several threads at once, if
// several run out. Answers with a GmlakeOomAnswer.
typedef int (*GmlakeOomCallback)(const GmlakeOomEvent* oom_event);

// Functions that take a device give -1 where it is not served.
struct GmlakeHistoryApi {
  // The CUDA ordinals of the devices that are served, at most `capacity`; returns how many there are.
  int (*ordinals)(int* ordinals, int capacity);

  // 0 events stop it; starting again starts anew. 0, or -1 and why.
  int (*record)(int device, int64_t max_events, char* message, size_t message_size);
  int (*is_recording)(int device);
  int (*mark)(int device, const char* name);            // names this moment in the recording
  GmlakeHistory* (*take)(int device, int with_events);  // null: no such device
  void (*drop)(GmlakeHistory* history);
  // The same as an npz file.
  int (*write)(int device, const char* path, int with_events, char* message, size_t message_size);
  // What GMLAKE_RECORD asked for: every device that is recorded, each into its file. 0, or -1 and why.
  int (*write_recordings)(char* message, size_t message_size);

  // The calling thread's label becomes `name` inside the present one; returns the present one, for leave_label.
  int32_t (*enter_label)(const char* name);
  void (*leave_label)(int32_t before);

  int64_t (*begin_track)(int device, const char* name);
  int (*read_track)(int device, int64_t track, gmlake::TrackStats* stats, int end);

  // Null takes it away.
  void (*on_oom_event)(GmlakeOomCallback callback);
};

}  // extern "C"

namespace gmlake {

const GmlakeHistoryApi* HistoryApi();

}  // namespace gmlake

#endif  // GMLAKE_PJRT_ABI_HISTORY_API_H_
