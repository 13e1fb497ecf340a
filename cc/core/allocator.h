#ifndef GMLAKE_CORE_ALLOCATOR_H_
#define GMLAKE_CORE_ALLOCATOR_H_

#include <optional>
#include <string>

#include "cc/base/bytes.h"
#include "cc/base/status.h"
#include "cc/driver/driver.h"
#include "cc/telemetry/stats.h"

namespace gmlake {

struct AllocatorOptions {
  Bytes limit;  // physical bytes held never exceed this
};

// INTERFACE CONTRACT (placeholder until the core lands; keep these signatures).
class Allocator {
 public:
  Allocator(Driver* driver, AllocatorOptions options);
  ~Allocator();

  // `stream`: the stream on which the caller will use the memory first.
  StatusOr<Address> Allocate(Bytes size, StreamHandle stream);
  // `stream`: the stream whose queued work may still use the memory. False: the address is not a live lease of ours.
  bool Free(Address address, StreamHandle stream);
  bool Owns(Address address) const;
  std::optional<Bytes> RequestedSize(Address address) const;

  AllocatorStats Stats() const;
  void ResetPeaks();
  // Gives idle physical blocks back until at most `target` bytes are held; returns the bytes given back.
  Bytes Trim(Bytes target);
  Status SetLimit(Bytes limit);
  // Work off the request path: reclaim of idle ranges over budget, completion of pending frees.
  void Maintain();
};

}  // namespace gmlake

#endif  // GMLAKE_CORE_ALLOCATOR_H_
