// Remembers which home addresses were copied to which host memory, and which are to be zero afterwards because their
// contents were dropped.
#ifndef GMLAKE_CORE_SLEEP_SAVED_BYTES_H_
#define GMLAKE_CORE_SLEEP_SAVED_BYTES_H_

#include <vector>

#include "cc/base/bytes.h"
#include "cc/base/status.h"
#include "cc/core/sleep/host_store.h"
#include "cc/core/tables/block_table.h"
#include "cc/driver/host_copier.h"

namespace gmlake {

struct Interval {
  Address from;
  Bytes size;

  Address end() const { return from + size; }
};

// Thread rule: one thread. Save and Restore wait for the device and touch none of the allocator's tables.
// Cost: one queued copy per 256 MiB or gap.
class SavedBytes {
 public:
  explicit SavedBytes(HostCopier* copier) : copier_(copier), store_(copier) {}

  // Copies `kept` to the host and waits. `dropped` come back as zeros. On failure nothing is remembered.
  Status Save(const std::vector<Interval>& kept, const std::vector<Interval>& dropped);
  // Forgets what lay in blocks that are gone.
  void Clip(const BlockTable& blocks);
  // Copies back and zeroes what is remembered, and waits.
  Status Restore();
  void Forget();
  // What `interval` held, into `to`: the kept bytes, and zeros for all others.
  void Read(const Interval& interval, char* to) const;

  Bytes bytes() const { return bytes_; }
  HostStore& store() { return store_; }
  const HostStore& store() const { return store_; }

 private:
  struct Piece {
    Interval home;
    char* host;
  };

  Status CopyOut(const std::vector<Interval>& kept);
  Status Copy(const Piece& piece);

  HostCopier* copier_;
  HostStore store_;
  std::vector<Piece> pieces_;
  std::vector<Interval> zeros_;
  Bytes bytes_;
};

}  // namespace gmlake

#endif  // GMLAKE_CORE_SLEEP_SAVED_BYTES_H_
