// This project's allocator as a policy: the core itself, nothing modelled.
#ifndef GMLAKE_BENCH_GMLAKE_POLICY_H_
#define GMLAKE_BENCH_GMLAKE_POLICY_H_

#include "cc/bench/policy.h"
#include "cc/core/allocator.h"

namespace gmlake::bench {

class GmlakePolicy final : public Policy {
 public:
  GmlakePolicy(Driver* driver, Bytes limit, const Thresholds& thresholds = {})
      : allocator_(driver, AllocatorOptions{limit, {}, thresholds}) {}

  Address Allocate(Bytes size, StreamHandle stream) override {
    const StatusOr<Address> address = allocator_.Allocate(size, stream);
    return address.ok() ? *address : Address();
  }
  void Free(Address address, StreamHandle stream) override { allocator_.Free(address, stream); }
  void Maintain() override { allocator_.Maintain(); }

 private:
  Allocator allocator_;
};

}  // namespace gmlake::bench

#endif  // GMLAKE_BENCH_GMLAKE_POLICY_H_
