// Creates physical blocks and gives them a home in a primitive range.
//
// There is one long primitive range per device, reserved once and generously; blocks are appended where its hole
// begins, so that new bytes join the free bytes before them. Holes in the middle (left by a trim) are filled again.
// Driver steps and table changes are separate, so that a caller can put the first into a larger transaction.
#ifndef GMLAKE_CORE_GROWER_H_
#define GMLAKE_CORE_GROWER_H_

#include <vector>

#include "cc/base/bytes.h"
#include "cc/base/status.h"
#include "cc/core/growth_policy.h"
#include "cc/core/memory.h"
#include "cc/driver/driver.h"
#include "cc/driver/transaction.h"

namespace gmlake {

// Blocks to be created side by side in a hole.
struct Fill {
  ChunkId hole = kNone;
  Address at;
  Bytes size;
  std::vector<Bytes> sizes;  // one per block
};

// Thread rule: the allocator's lock. Cost: planning is a look at the holes; execution is 3 driver calls per block.
class Grower {
 public:
  Grower(Driver* driver, Memory* memory) : driver_(driver), memory_(memory) {}

  // The bytes that must be created for `request` contiguous bytes at the best hole; reserves addresses if none will do.
  struct Plan {
    ChunkId hole = kNone;
    Bytes deficit;
  };
  StatusOr<Plan> Contiguous(Bytes request);
  // A hole for at least `size` bytes, wherever they lie.
  StatusOr<Plan> Anywhere(Bytes size);

  // As much as the growth policy says, or exactly the deficit.
  Fill PlanFill(const Plan& plan, const GrowthInput& input) const;
  Fill PlanExact(const Plan& plan, const GrowthInput& input) const;

  // Driver and tables at once. `chunk` (may be null) gets the free chunk that includes the new blocks.
  Status Create(const Fill& fill, ChunkId* chunk);

  // The same in two halves. Driver only. Appends the created handles to `handles`.
  Status Execute(const Fill& fill, Transaction* transaction, std::vector<BlockHandle>* handles);
  // Tables only. The new blocks, all free.
  std::vector<BlockId> Register(const Fill& fill, const std::vector<BlockHandle>& handles, ChunkId* chunk);

 private:
  Fill FillOf(const Plan& plan, Bytes amount, const GrowthInput& input) const;
  template <typename Missing>
  StatusOr<Plan> FindHole(Bytes size, Missing missing);
  // The hole that it is.
  StatusOr<ChunkId> ReserveRange(Bytes at_least);
  Status CreateAtOnce(const Fill& fill, ChunkId* chunk);
  Bytes FreeBefore(ChunkId hole) const;

  Driver* driver_;
  Memory* memory_;
};

}  // namespace gmlake

#endif  // GMLAKE_CORE_GROWER_H_
