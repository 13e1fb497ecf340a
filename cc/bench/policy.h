// An allocation policy under test: what replay drives.
//
// Every policy gets its memory from the same modelled driver, so that all are charged by the same table and held to
// the same limit. The policies are listed in policies.h.
#ifndef GMLAKE_BENCH_POLICY_H_
#define GMLAKE_BENCH_POLICY_H_

#include "cc/base/bytes.h"
#include "cc/driver/driver.h"

namespace gmlake::bench {

// Thread rule: one thread.
class Policy {
 public:
  virtual ~Policy() = default;
  // The null address where the request cannot be served.
  virtual Address Allocate(Bytes size, StreamHandle stream) = 0;
  virtual void Free(Address address, StreamHandle stream) = 0;
  // Work that a product does off the request path.
  virtual void Maintain() {}
};

}  // namespace gmlake::bench

#endif  // GMLAKE_BENCH_POLICY_H_
