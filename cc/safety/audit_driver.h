// A driver that knows every physical byte by one more address.
//
// It stands between the allocator and a real driver, and maps each physical block a second time, at an address that the
// allocator never hears of. What was written through a lease can so be read back by a way that no table of the
// allocator knows: a test of cc/safety/pattern_churn.h. It changes nothing of what the allocator sees.
#ifndef GMLAKE_SAFETY_AUDIT_DRIVER_H_
#define GMLAKE_SAFETY_AUDIT_DRIVER_H_

#include <cstdint>
#include <map>
#include <mutex>
#include <vector>

#include "cc/driver/driver.h"

namespace gmlake {

// A piece of a lease, by the address of which the allocator does not know.
struct Alias {
  Address address;
  Bytes size;
  int mappings = 0;  // how many addresses the allocator itself has for these bytes
};

// Model: blocks with one alias each, and the allocator's mappings of them. Invariant: the alias of a block lives from
// Create to Release, so it may be read by work that the allocator has been told of. Thread rule: any thread, one lock,
// never held across a call to the driver. Cost: one mapping more for each block.
class AuditDriver final : public Driver {
 public:
  explicit AuditDriver(Driver* driver) : driver_(driver) {}

  // The same bytes as [address, address + size), in order; kInvalidArgument if they are not all mapped.
  StatusOr<std::vector<Alias>> AliasesOf(Address address, Bytes size) const;

  Bytes granularity() const override { return driver_->granularity(); }
  StatusOr<BlockHandle> Create(Bytes size) override;
  Status Release(BlockHandle block) override;
  StatusOr<Address> Reserve(Bytes size) override { return driver_->Reserve(size); }
  Status FreeAddress(Address address, Bytes size) override { return driver_->FreeAddress(address, size); }
  Status Map(Address address, Bytes size, BlockHandle block) override;
  Status SetAccess(Address address, Bytes size) override { return driver_->SetAccess(address, size); }
  Status Unmap(Address address, Bytes size) override;
  StatusOr<EventHandle> RecordEvent(StreamHandle stream) override { return driver_->RecordEvent(stream); }
  StatusOr<bool> IsComplete(EventHandle event) override { return driver_->IsComplete(event); }
  Status WaitOnHost(EventHandle event) override { return driver_->WaitOnHost(event); }
  Status WaitOnDevice() override { return driver_->WaitOnDevice(); }
  Status WaitOnStream(StreamHandle stream, EventHandle event) override { return driver_->WaitOnStream(stream, event); }
  void DestroyEvent(EventHandle event) override { driver_->DestroyEvent(event); }
  StatusOr<bool> IsCapturing(StreamHandle stream) override { return driver_->IsCapturing(stream); }
  StatusOr<DeviceMemory> QueryMemory() override { return driver_->QueryMemory(); }

 private:
  struct Block {
    Address alias;
    Bytes size;
    int mappings = 0;
  };
  struct Mapping {
    Bytes size;
    uint64_t block;
  };

  StatusOr<Address> MapAlias(BlockHandle block, Bytes size);
  Status UnmapAlias(Address alias, Bytes size);
  void Forget(Address from, Address to);

  Driver* const driver_;
  mutable std::mutex mutex_;
  std::map<uint64_t, Block> blocks_;     // by handle; guarded by mutex_
  std::map<Address, Mapping> mappings_;  // the allocator's; guarded by mutex_
};

}  // namespace gmlake

#endif  // GMLAKE_SAFETY_AUDIT_DRIVER_H_
