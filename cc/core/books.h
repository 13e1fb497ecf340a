// The numbers that an allocator keeps about its requests: counts, bytes and peaks. snapshot_maker.h
// computes all other statistics when somebody asks for them.
#ifndef GMLAKE_CORE_BOOKS_H_
#define GMLAKE_CORE_BOOKS_H_

#include <algorithm>
#include <cstdint>

#include "cc/base/bytes.h"
#include "cc/telemetry/stats.h"

namespace gmlake {

struct Demand {
  int64_t requests;  // allocations and frees so far
  Bytes peak;        // most bytes in use since the demand was last taken
  Bytes reserved;    // held now
};

// Model: some fields of AllocatorStats, and two further peaks of the bytes in use. Invariant: no peak is below the
// present value; a reset never lowers the high-water mark, because decisions depend on it. Thread rule: the allocator's
// lock. Cost: some additions per request.
class Books {
 public:
  explicit Books(Bytes limit) { kept_.bytes_limit = limit; }

  void OnAlloc(Bytes size, Bytes requested, Way way) {
    kept_.bytes_in_use += size;
    kept_.bytes_requested += requested;
    high_water_ = std::max(high_water_, kept_.bytes_in_use);
    kept_.peak_bytes_in_use = std::max(kept_.peak_bytes_in_use, kept_.bytes_in_use);
    window_peak_ = std::max(window_peak_, kept_.bytes_in_use);
    kept_.peak_bytes_requested = std::max(kept_.peak_bytes_requested, kept_.bytes_requested);
    kept_.largest_alloc_size = std::max(kept_.largest_alloc_size, requested);
    ++kept_.num_allocs;
    WayStats& stats = kept_.by_way[static_cast<int>(way)];
    ++stats.count;
    stats.bytes += requested;
  }
  void OnFree(Bytes size, Bytes requested) {
    kept_.bytes_in_use -= size;
    kept_.bytes_requested -= requested;
    ++kept_.num_frees;
  }
  void OnRefusal() { ++kept_.num_failures; }
  void OnDeviceWait() { ++kept_.num_device_waits; }
  // To be called after whatever may have created physical memory. `reserved`: the bytes held now.
  void OnReserved(Bytes reserved) { kept_.peak_bytes_reserved = std::max(kept_.peak_bytes_reserved, reserved); }

  void ResetPeaks(Bytes reserved) {
    kept_.peak_bytes_in_use = kept_.bytes_in_use;
    kept_.peak_bytes_requested = kept_.bytes_requested;
    kept_.peak_bytes_reserved = reserved;
  }
  Demand TakeDemand(Bytes reserved) {
    const Demand demand{kept_.num_allocs + kept_.num_frees, std::max(window_peak_, kept_.bytes_in_use), reserved};
    window_peak_ = kept_.bytes_in_use;
    return demand;
  }
  void set_limit(Bytes limit) { kept_.bytes_limit = limit; }

  // The other fields are zero.
  const AllocatorStats& kept() const { return kept_; }
  Bytes limit() const { return kept_.bytes_limit; }
  Bytes in_use() const { return kept_.bytes_in_use; }
  int64_t num_allocs() const { return kept_.num_allocs; }
  int64_t num_frees() const { return kept_.num_frees; }
  // Most bytes ever in use.
  Bytes high_water() const { return high_water_; }
  // The same once `size` bytes more are in use.
  Bytes HighWaterWith(Bytes size) const { return std::max(high_water_, kept_.bytes_in_use + size); }

 private:
  AllocatorStats kept_;
  Bytes high_water_;
  Bytes window_peak_;  // since TakeDemand
};

}  // namespace gmlake

#endif  // GMLAKE_CORE_BOOKS_H_
