// What the driver holds for one device: blocks, ranges, mappings, each with a number of its own that is never used
// again.
//
// It follows the driver calls that succeeded, not the tables of the core, so a snapshot shows what is there even where
// the two should ever disagree. It tells the recorder of each change.
#ifndef GMLAKE_TELEMETRY_INVENTORY_H_
#define GMLAKE_TELEMETRY_INVENTORY_H_

#include <cstdint>
#include <map>
#include <unordered_map>

#include "cc/base/bytes.h"
#include "cc/telemetry/history.h"
#include "cc/telemetry/recorder.h"

namespace gmlake {

// Model: handles and addresses with numbers. A range whose first mapping is of a block that is mapped elsewhere is a
// stitched range. A block is there until it is released and its last mapping is gone, as CUDA has it.
// Thread rule: the allocator's lock. Cost: a look-up or two per driver call, which takes a hundred times longer.
class Inventory {
 public:
  explicit Inventory(Recorder* recorder) : recorder_(recorder) {}

  void OnCreate(uint64_t handle, Bytes size);
  void OnRelease(uint64_t handle);
  void OnReserve(Address address, Bytes size);
  // Of the addresses of one range, these go back. What it has behind them becomes a range of its own.
  void OnFreeAddress(Address address, Bytes size);
  void OnMap(Address address, Bytes size, uint64_t handle);
  void OnUnmap(Address address, Bytes size);

  // kNoNumber where there is none.
  int32_t RangeAt(Address address) const;
  int32_t BlockNumber(uint64_t handle) const;
  // Appends everything to the snapshot's ranges, blocks and mappings, ordered by number and address.
  void CopyTo(Snapshot* snapshot) const;

  Bytes bytes_created() const { return bytes_created_; }
  Bytes bytes_released() const { return bytes_released_; }

 private:
  struct Block {
    int32_t number;
    Bytes size;
    int mappings = 0;
    bool released = false;
  };
  struct Range {
    int32_t number;
    Bytes size;
    bool is_known = false;  // whether it is stitched has been seen
    bool is_stitched = false;
    Bytes mapped;  // from the range's first byte to the end of its last mapping so far
  };
  struct Mapping {
    uint64_t handle;
    Bytes size;
  };
  using Ranges = std::map<Address, Range>;

  Ranges::const_iterator FindRange(Address address) const;
  void Classify(Address base, Range* range, bool is_stitched);
  static Range PartOf(Range range, Bytes from, Bytes size);
  void Renumber(Address base);
  void TellMappings(EventKind kind, Address base, const Range& range);
  void DropIfGone(std::unordered_map<uint64_t, Block>::iterator block);
  void Tell(EventKind kind, Address address, Bytes size, int32_t range, int32_t block);

  Recorder* recorder_;
  std::unordered_map<uint64_t, Block> blocks_;
  Ranges ranges_;
  std::map<Address, Mapping> mappings_;
  int32_t next_block_ = 0;
  int32_t next_range_ = 0;
  Bytes bytes_created_;
  Bytes bytes_released_;
};

}  // namespace gmlake

#endif  // GMLAKE_TELEMETRY_INVENTORY_H_
