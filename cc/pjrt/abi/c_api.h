// The C API of libgmlake_pjrt.so, which lives inside the host's process beside the stock CUDA plugin, for the
// Python module `_gmlake` or any other host: one C function that returns one table.
//
// Both sides are built from one tree and shipped in one wheel; `struct_size` tells a mixed installation apart.
#ifndef GMLAKE_PJRT_ABI_C_API_H_
#define GMLAKE_PJRT_ABI_C_API_H_

#include <stddef.h>
#include <stdint.h>

#include "cc/pjrt/abi/history_api.h"
#include "cc/telemetry/stats.h"

extern "C" {

// One option by its name in gmlake_jax/config.py. The value is written as in the option's environment variable.
struct GmlakeOption {
  const char* name;
  const char* value;
};

struct GmlakeSleepOptions {
  size_t struct_size;
  const int32_t* dropped_tags;  // what has one of these tags is not kept
  size_t num_dropped_tags;
  int64_t patience_ms;  // how long work that is queued may still take
};

struct GmlakeSleepReport {
  int64_t copied_bytes;
  int64_t dropped_bytes;
  int64_t given_bytes;
  double copy_seconds;
  double total_seconds;
};

struct GmlakeApi {
  size_t struct_size;

  // Loads the stock plugin at `stock_path`, checks the hook points, hooks the driver look-ups and replaces the table's
  // entries. 0 on success; otherwise nothing was changed and `message` says why in one line.
  int (*install)(const char* stock_path, const GmlakeOption* options, size_t num_options, char* message,
                 size_t message_size);
  int (*is_installed)();
  // Devices that have an allocator of ours so far. A device gets one when XLA's client is created.
  int (*num_devices)();
  // Why nothing is active, or a line about what is; always non-null.
  const char* (*state)();

  int (*stats)(int device, gmlake::AllocatorStats* stats);  // 0, or -1: no such device
  int (*reset_peaks)(int device);
  int64_t (*trim)(int device, int64_t target_bytes);  // bytes given back, or -1
  int (*set_limit)(int device, int64_t bytes, char* message, size_t message_size);

  // Sleep and wake (gmlake_jax/sleeping.py says what they promise). 0, or -1 and why.
  int (*sleep)(int device, const GmlakeSleepOptions* options, GmlakeSleepReport* report, char* message,
               size_t message_size);
  int (*wake)(int device, GmlakeSleepReport* report, char* message, size_t message_size);
  int (*is_asleep)(int device);  // 1 or 0; -1: no such device
  // Marks the live buffer at `address`; 0, or -1: there is none of ours.
  int (*tag)(int device, uint64_t address, int32_t tag);
  // Buffers that another library holds, at most `capacity` of their addresses; how many there are, or -1.
  int64_t (*shared_addresses)(int device, uint64_t* addresses, int64_t capacity);
  // Begins to make host memory for a sleep of `bytes`; negative: of what is alive now. 0, or -1 and why.
  int (*prepare_sleep)(int device, int64_t bytes, char* message, size_t message_size);
  // Bytes of it that are still to be made; -1 and why, if some of it could not be.
  int64_t (*unprepared)(int device, char* message, size_t message_size);
  int (*release_host_store)(int device);
  // What the device says of its memory, all processes together. 0 or -1.
  int (*device_memory)(int device, int64_t* free_bytes, int64_t* total_bytes);

  // Tries the driver on its own, without a client: create, map, set access, write, unmap of two granules per device.
  // Writes a text report; 0 if every device can be served.
  int (*probe)(const char* driver_path, char* report, size_t report_size);

  // Snapshots, recordings, labels, tracks, out-of-memory events.
  const GmlakeHistoryApi* history;
};

// The only symbol besides GetPjrtApi that the library exports.
const GmlakeApi* GmlakeGetApi();

}  // extern "C"

#endif  // GMLAKE_PJRT_ABI_C_API_H_
