// Unmaps the physical memory of addresses that stay reserved, and maps memory there again.
//
// Both directions start from any state in between and leave alone what is done already. So each undoes the other,
// however far that one came. saved_bytes.h cares for the contents.
#ifndef GMLAKE_CORE_SLEEP_MAPPING_SWITCH_H_
#define GMLAKE_CORE_SLEEP_MAPPING_SWITCH_H_

#include <vector>

#include "cc/base/bytes.h"
#include "cc/base/status.h"
#include "cc/core/ranges/memory.h"
#include "cc/driver/driver.h"

namespace gmlake {

// Model: the blocks that are to lose their memory, and the runs of addresses at which they are mapped, at home and in
// stitched ranges. Blocks in doubt are left out and keep their memory. Invariant: Memory::asleep is the bytes of the
// blocks that have none. Thread rule: the allocator's lock. Cost: as the driver charges for each mapping and each
// block.
class MappingSwitch {
 public:
  MappingSwitch(Driver* driver, Memory* memory) : driver_(driver), memory_(memory) {}

  // Which blocks and addresses there are. All of them must be mapped, or, `down`, none.
  void Plan(bool down);
  // Unmaps all, then releases the blocks, as many as the driver takes back. Stops at the first mapping that will not
  // come off; then no block was released.
  Status UnmapAll();
  // Creates blocks, maps them, opens them. Stops at the first call that fails.
  Status MapAll();
  // Takes down what it can: after a MapAll that failed.
  void Abandon();

  // False: the block is in doubt, and stays mapped wherever it is.
  bool IsMovable(BlockId id) const;
  // Nothing is mapped.
  bool is_down() const { return is_down_; }
  // Of all mappings of the blocks, at home and elsewhere.
  Bytes mapped_bytes() const { return mapped_bytes_; }

 private:
  // Blocks that follow each other at some addresses; the first `mapped` of them are mapped there now.
  struct Run {
    Address at;
    std::vector<BlockId> blocks;
    size_t mapped = 0;
  };

  void AddRuns(Address at, const std::vector<BlockId>& blocks, bool down);
  Bytes MappedOf(const Run& run) const;
  Status Unmap(Run* run);
  Status Map(Run* run);
  void ReleaseUnmapped();
  bool HasMemory(BlockId id) const { return memory_->blocks[id].handle.value != 0; }
  Status Fill(BlockId id);

  Driver* driver_;
  Memory* memory_;
  std::vector<BlockId> blocks_;
  std::vector<Run> runs_;
  bool is_down_ = false;
  Bytes mapped_bytes_;
};

}  // namespace gmlake

#endif  // GMLAKE_CORE_SLEEP_MAPPING_SWITCH_H_
