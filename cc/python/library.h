// Python's side of the C API of libgmlake_pjrt.so. The library is loaded once and never unloaded, because XLA holds its
// functions.
//
// Every call goes through the table of cc/pjrt/abi/c_api.h; nothing here decides anything.
#ifndef GMLAKE_PYTHON_LIBRARY_H_
#define GMLAKE_PYTHON_LIBRARY_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "cc/base/status.h"
#include "cc/pjrt/abi/c_api.h"
#include "cc/telemetry/stats.h"

namespace gmlake {

// The opened library. Copies share one handle, which is never closed. Any thread may call any
// method.
class Library {
 public:
  static StatusOr<Library> Open(const std::string& path);

  // `options`: by their names in gmlake_jax/config.py (cc/pjrt/devices/options.h).
  Status Install(const std::string& stock_path, const std::map<std::string, std::string>& options) const;
  bool is_installed() const { return api_->is_installed() != 0; }
  int num_devices() const { return api_->num_devices(); }
  std::string state() const { return api_->state(); }

  StatusOr<AllocatorStats> Stats(int device) const;
  Status ResetPeaks(int device) const;
  StatusOr<Bytes> Trim(int device, Bytes target) const;
  Status SetLimit(int device, Bytes limit) const;

  StatusOr<GmlakeSleepReport> Sleep(int device, const std::vector<int32_t>& dropped_tags, int64_t patience_ms) const;
  StatusOr<GmlakeSleepReport> Wake(int device) const;
  StatusOr<bool> IsAsleep(int device) const;
  // False where no live buffer of ours begins at the address.
  bool Tag(int device, uint64_t address, int32_t tag) const { return api_->tag(device, address, tag) == 0; }
  StatusOr<std::vector<uint64_t>> SharedAddresses(int device) const;
  // Begins only; Unprepared says how far it is.
  Status PrepareSleep(int device, std::optional<int64_t> bytes) const;
  StatusOr<int64_t> Unprepared(int device) const;
  Status ReleaseHostStore(int device) const;
  struct DeviceMemory {
    int64_t free;
    int64_t total;
  };
  StatusOr<DeviceMemory> QueryMemory(int device) const;

  // Snapshots, recordings, labels, tracks, out-of-memory events.
  const GmlakeHistoryApi& history() const { return *api_->history; }

  // The report of the capability probe; not ok (with the report as its message) where a device
  // cannot be served.
  StatusOr<std::string> Probe(const std::optional<std::string>& driver_path) const;

 private:
  explicit Library(const GmlakeApi* api) : api_(api) {}

  const GmlakeApi* api_;
};

}  // namespace gmlake

#endif  // GMLAKE_PYTHON_LIBRARY_H_
