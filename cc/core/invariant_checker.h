// Walks the tables of an allocator from end to end and says what is wrong with them. For tests.
#ifndef GMLAKE_CORE_INVARIANT_CHECKER_H_
#define GMLAKE_CORE_INVARIANT_CHECKER_H_

#include <string>

#include "cc/core/allocator_parts.h"

namespace gmlake {

// Model: a view of an allocator's parts. Invariant: it changes nothing. Thread rule: the allocator's lock. Cost: a walk
// over every table, with a sort of all chunks in use.
class InvariantChecker {
 public:
  explicit InvariantChecker(const AllocatorParts& parts)
      : memory_(parts.memory),
        leases_(parts.leases),
        pending_(parts.pending),
        books_(parts.books),
        small_(parts.small) {}

  // The first problem found, or nothing.
  std::string Check() const;

 private:
  std::string CheckSpace() const;
  std::string CheckBlocks() const;
  std::string CheckSeams() const;
  std::string CheckRanges() const;
  std::string CheckRangeLeases() const;
  std::string CheckRangeBlocks() const;
  std::string CheckAddresses() const;
  std::string CheckLeases() const;
  std::string CheckBooks() const;

  const Memory& memory_;
  const LeaseTable& leases_;
  const PendingFrees& pending_;
  const Books& books_;
  const SmallPool& small_;
};

}  // namespace gmlake

#endif  // GMLAKE_CORE_INVARIANT_CHECKER_H_
