// Describes the state of an allocator at one instant: statistics, blocks, leases.
#ifndef GMLAKE_CORE_SNAPSHOT_MAKER_H_
#define GMLAKE_CORE_SNAPSHOT_MAKER_H_

#include "cc/base/status.h"
#include "cc/core/allocator_parts.h"
#include "cc/driver/driver.h"
#include "cc/telemetry/history.h"
#include "cc/telemetry/stats.h"

namespace gmlake {

// Model: a view of an allocator's parts. Invariant: it changes nothing and makes no driver call. Thread rule: the
// allocator's lock. Cost: statistics walk the free chunks; a snapshot walks blocks and leases and sorts them.
class SnapshotMaker {
 public:
  explicit SnapshotMaker(const AllocatorParts& parts) : parts_(parts) {}

  // `device`: what the driver says of the device, or why it was not asked.
  AllocatorStats Stats(const StatusOr<DeviceMemory>& device) const;
  Snapshot Take(const StatusOr<DeviceMemory>& device) const;

 private:
  void AddSizes(AllocatorStats* stats) const;
  void AddServable(const StatusOr<DeviceMemory>& device, AllocatorStats* stats) const;
  void AddCounts(AllocatorStats* stats) const;
  void AddLeases(Snapshot* snapshot) const;
  LeaseRow RowOf(Address address, ChunkId chunk, LeaseState state) const;
  void MarkDoubts(Snapshot* snapshot) const;

  const AllocatorParts& parts_;
};

}  // namespace gmlake

#endif  // GMLAKE_CORE_SNAPSHOT_MAKER_H_
