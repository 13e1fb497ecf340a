// Creates physical blocks and gives them a home in a primitive range.
//
// A device has one long primitive range, reserved once and generously. Blocks are appended where its hole begins, so
// new bytes join the free bytes before them. Holes that a trim left in the middle are filled again. Where no hole is
// long enough, a further range is reserved, within half of the budget of addresses. Beyond that, blocks that need not
// lie side by side fill whatever holes there are.
//
// Driver steps and table changes are separate, so that a caller can put the first into a larger transaction.
#ifndef GMLAKE_CORE_MAPPING_GROWER_H_
#define GMLAKE_CORE_MAPPING_GROWER_H_

#include <vector>

#include "cc/base/bytes.h"
#include "cc/base/status.h"
#include "cc/core/policy/growth_policy.h"
#include "cc/core/ranges/memory.h"
#include "cc/driver/driver.h"
#include "cc/driver/transaction.h"

namespace gmlake {

// Blocks to be created: in each part side by side, in a hole of its own.
struct Fill {
  struct Part {
    ChunkId hole = kNone;  // none: in a primitive range that is reserved with them
    Address at;
    Bytes size;
    std::vector<Bytes> sizes;  // one per block
  };
  std::vector<Part> parts;
  Span reserved = {};  // the new primitive range's addresses, once there are any

  bool needs_range() const { return !parts.empty() && parts.front().hole == kNone; }
  bool lacks_addresses() const { return needs_range() && reserved.size == Bytes(0); }
};

// The sizes of its blocks, in order.
std::vector<Bytes> SizesOf(const Fill& fill);

// Thread rule: the allocator's lock. Cost: planning is a look at the holes; execution is 3 driver calls per block.
class Grower {
 public:
  Grower(Driver* driver, Memory* memory) : driver_(driver), memory_(memory) {}

  // The bytes that must be created for `request` contiguous bytes at the best hole.
  struct Plan {
    ChunkId hole = kNone;  // none: addresses must be reserved, too
    Bytes deficit;
  };
  StatusOr<Plan> Contiguous(Bytes request) const;

  // As much as the growth policy says, or exactly the deficit.
  Fill PlanFill(const Plan& plan, const GrowthInput& input) const;
  // Just `size` bytes, wherever they lie; `scattered`: in whatever holes there are.
  StatusOr<Fill> PlanAnywhere(Bytes size, bool scattered, const GrowthInput& input) const;

  // Driver and tables at once. `chunk` (may be null) gets the free chunk that includes the new blocks.
  Status Create(Fill* fill, ChunkId* chunk);

  // The same in two halves. Driver only. Appends the created handles to `handles`. After a failure
  // `fill->lacks_addresses()` tells whether the driver has none left.
  Status Execute(Fill* fill, Transaction* transaction, std::vector<BlockHandle>* handles);
  // Tables only. The new blocks, all free.
  std::vector<BlockId> Register(Fill fill, const std::vector<BlockHandle>& handles, ChunkId* chunk);

 private:
  Fill FillOf(const Plan& plan, Bytes amount, const GrowthInput& input) const;
  Fill::Part PartIn(ChunkId hole, Bytes amount, const GrowthInput& input) const;
  template <typename Missing>
  StatusOr<Plan> FindHole(Bytes size, Missing missing) const;
  StatusOr<Fill> PlanScattered(Bytes size, const GrowthInput& input) const;
  bool MayReserveRange(Bytes at_least) const;
  Status ReserveRange(Fill* fill, Transaction* transaction) const;
  static Status ExecutePart(const Fill::Part& part, Transaction* transaction, std::vector<BlockHandle>* handles);
  ChunkId RegisterPart(const Fill::Part& part, const BlockHandle* handles, std::vector<BlockId>* blocks);
  void RegisterRange(Fill* fill);
  Bytes FreeBefore(ChunkId hole) const;

  Driver* driver_;
  Memory* memory_;
};

}  // namespace gmlake

#endif  // GMLAKE_CORE_MAPPING_GROWER_H_
