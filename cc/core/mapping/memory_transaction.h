// A transaction of the driver over the tables of a device: what it could not undo is never used again.
#ifndef GMLAKE_CORE_MAPPING_MEMORY_TRANSACTION_H_
#define GMLAKE_CORE_MAPPING_MEMORY_TRANSACTION_H_

#include "cc/core/ranges/memory.h"
#include "cc/driver/driver.h"
#include "cc/driver/transaction.h"

namespace gmlake {

// Model: the steps of one driver operation; without Commit() the destructor undoes them. Invariant: once it is
// destroyed, no table counts on memory or addresses that the driver did not give back. Thread rule: the allocator's
// lock. Cost: the driver calls.
class MemoryTransaction {
 public:
  MemoryTransaction(Driver* driver, Memory* memory) : cleanup_{memory}, steps_(driver, &memory->unreleased) {}

  Transaction* steps() { return &steps_; }
  void Commit() { steps_.Commit(); }

 private:
  struct Cleanup {
    ~Cleanup() { memory->AvoidUnreleased(); }
    Memory* memory;
  };

  Cleanup cleanup_;  // declared before `steps_`, so that it runs after they are undone
  Transaction steps_;
};

}  // namespace gmlake

#endif  // GMLAKE_CORE_MAPPING_MEMORY_TRANSACTION_H_
