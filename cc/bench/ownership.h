// Who owns which physical byte during a replay: the check that a policy never hands out memory twice.
//
// It asks the modelled driver what lies behind each lease, so aliases are seen through. It costs far more than the
// policies do; replay uses it on request, never while it measures.
#ifndef GMLAKE_BENCH_OWNERSHIP_H_
#define GMLAKE_BENCH_OWNERSHIP_H_

#include <cstdint>
#include <map>
#include <unordered_map>
#include <utility>
#include <vector>

#include "cc/base/bytes.h"
#include "cc/base/status.h"
#include "cc/driver/model_driver.h"

namespace gmlake::bench {

// Invariant: the extents of live leases are disjoint. Thread rule: one thread.
class Ownership {
 public:
  explicit Ownership(const ModelDriver* driver) : driver_(driver) {}

  // Fails where a byte of the lease is not accessible, or belongs to another lease.
  Status Claim(Address address, Bytes size);
  // Fails where the lease no longer shows the memory it was given.
  Status Return(Address address, Bytes size);

 private:
  using Extents = std::vector<ModelDriver::Extent>;
  bool Insert(const ModelDriver::Extent& extent);

  const ModelDriver* const driver_;
  std::map<std::pair<uint64_t, Bytes>, Bytes> owned_;  // (block, offset) -> size
  std::unordered_map<uint64_t, Extents> leases_;
};

}  // namespace gmlake::bench

#endif  // GMLAKE_BENCH_OWNERSHIP_H_
