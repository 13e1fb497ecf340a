#include "cc/bench/tsl_bfc.h"

#include <utility>

#include "xla/tsl/framework/allocator.h"
#include "xla/tsl/framework/bfc_allocator.h"

namespace gmlake::bench {
namespace {

constexpr size_t kAlignment = 256;

// Hands BFC its regions, each one physical block of the modelled driver.
class Regions final : public tsl::SubAllocator {
 public:
  explicit Regions(Driver* driver) : tsl::SubAllocator({}, {}), driver_(driver) {}

  void* Alloc(size_t, size_t num_bytes, size_t* received) override {
    const Bytes size = AlignUp(Bytes(static_cast<int64_t>(num_bytes)), driver_->granularity());
    const auto block = driver_->Create(size);
    if (!block.ok()) return nullptr;
    const auto start = driver_->Reserve(size);
    if (!driver_->Map(*start, size, *block).ok() || !driver_->SetAccess(*start, size).ok()) return nullptr;
    *received = num_bytes;
    return reinterpret_cast<void*>(start->value());
  }
  void Free(void*, size_t) override {}  // the modelled device goes away with the policy
  bool SupportsCoalescing() const override { return false; }

 private:
  Driver* const driver_;
};

class TslBfc final : public Policy {
 public:
  TslBfc(Driver* driver, Bytes limit, const tsl::BFCAllocator::Options& options)
      : bfc_(std::make_unique<Regions>(driver), limit.count(), "bfc", options) {
    // Makes the one region, and the table of all its places, before anyone measures.
    if (!options.allow_growth) bfc_.DeallocateRaw(bfc_.AllocateRaw(kAlignment, kAlignment, kNoRetry));
  }

  Address Allocate(Bytes size, StreamHandle) override {
    return Address(reinterpret_cast<uint64_t>(bfc_.AllocateRaw(kAlignment, size.count(), kNoRetry)));
  }
  void Free(Address address, StreamHandle) override { bfc_.DeallocateRaw(reinterpret_cast<void*>(address.value())); }

 private:
  static inline const tsl::AllocationAttributes kNoRetry{false, true, nullptr};
  tsl::BFCAllocator bfc_;
};

}  // namespace

std::unique_ptr<Policy> MakeTslBfc(Driver* driver, std::optional<Bytes> limit) {
  tsl::BFCAllocator::Options options;
  options.allow_growth = !limit;
  options.allow_retry_on_failure = false;
  return std::make_unique<TslBfc>(driver, limit.value_or(driver->QueryMemory()->total), options);
}

}  // namespace gmlake::bench
