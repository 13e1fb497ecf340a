// The tables of one device side by side: what exists, what is free, and what is mapped twice.
//
// The parts that decide (grower, stitcher, reclaimer, allocator) work on this struct. Nothing here decides or calls the
// driver. Each table refers only to those declared before it.
#ifndef GMLAKE_CORE_RANGES_MEMORY_H_
#define GMLAKE_CORE_RANGES_MEMORY_H_

#include <vector>

#include "cc/core/ranges/address_space.h"
#include "cc/core/ranges/range_table.h"
#include "cc/core/tables/block_table.h"
#include "cc/core/tables/chunk.h"
#include "cc/core/tables/chunk_list.h"
#include "cc/core/tables/thresholds.h"
#include "cc/driver/transaction.h"
#include "cc/telemetry/inventory_log.h"

namespace gmlake {

// How many addresses are reserved at a time, and in all. Several times what the device has keeps growth contiguous
// after trims have left holes; but all devices of a process share 128 TiB.
struct RangeSize {
  int64_t per_total = 4;
  Bytes least = GiB(1);
  Bytes budget = GiB(8 << 10);
};

// Thread rule: the allocator's lock. Invariant: `reserved()` is exactly what the driver holds for us.
struct Memory {
  // `inventory` may be null.
  explicit Memory(Bytes granularity, const Thresholds& thresholds = {}, const RangeSize& range_size = {},
                  InventoryLog* inventory = nullptr)
      : thresholds(thresholds), range_size(range_size), blocks(granularity, &chunks), addresses(inventory) {}
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  // Physical bytes held, in use, idle or in doubt.
  Bytes reserved() const { return blocks.bytes() - asleep + unreleased.bytes; }

  // Addresses reserved with the driver, for blocks' homes and for stitched ranges.
  Bytes address_bytes() const { return blocks.address_bytes() + addresses.reserved(); }
  // No stitched range can be extended any more; the addresses that were kept for that are free.
  void TakeBackRoom();

  // Makes the pieces used, in this order, as one lease; returns its first chunk. All their bytes must be free.
  ChunkId Take(const std::vector<Piece>& pieces);
  // The same for bytes that follow each other at home.
  ChunkId TakeInterval(Address from, Address to);
  // Makes every chunk of the lease free again.
  void Give(ChunkId first);
  // How often something came free. Tells what was free already when an event was recorded.
  int64_t epoch() const { return epoch_; }
  // Takes the mappings in `unreleased` out of use: nothing grows there any more, and their blocks are not released.
  // MemoryTransaction calls it.
  void AvoidUnreleased();

  // Is all of the block free?
  bool IsFree(BlockId block) const;
  // The hole that covers `address`.
  ChunkId HoleAt(Address address) const;

  const Thresholds thresholds;
  const RangeSize range_size;
  ChunkStore chunks;
  BlockTable blocks;
  ChunkList space{&chunks, &blocks, /*small=*/false};
  AddressSpace addresses;  // of stitched ranges
  RangeTable ranges{&blocks, &chunks, thresholds.few_ranges};
  Unreleased unreleased;     // held by the driver but in no table
  Bytes asleep;              // of the blocks in the table, those without memory for now (sleeper.h)
  Bytes quarantined_blocks;  // in the block table but never to be used again
  int64_t num_quarantined_blocks = 0;

 private:
  void EndLeaseOf(RangeId range);
  void SpoilPlace(const Unreleased::Place& place);
  void Pin(BlockHandle handle);

  int64_t epoch_ = 0;
};

}  // namespace gmlake

#endif  // GMLAKE_CORE_RANGES_MEMORY_H_
