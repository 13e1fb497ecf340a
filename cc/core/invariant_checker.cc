#include "cc/core/invariant_checker.h"

#include <algorithm>
#include <map>
#include <vector>

namespace gmlake {
namespace {

// The first chunk of the primitive range that holds `id`.
ChunkId FirstOfRegion(const ChunkStore& chunks, ChunkId id) {
  while (chunks[id].previous != kNone) id = chunks[id].previous;
  return id;
}

bool Covers(const Chunk& chunk, Address address) { return chunk.address <= address && address < chunk.end(); }

// Boundaries of chunks inside the block.
int CountSeams(const Memory& memory, const Block& block) {
  const ChunkStore& chunks = memory.chunks;
  int seams = 0;
  ChunkId id = memory.blocks.ChunkAt(block.home);
  for (; id != kNone && chunks[id].end() < block.end(); id = chunks[id].next) ++seams;
  return seams;
}

// True if `range.ends` has the end of each of its blocks.
bool KnowsEnds(const Memory& memory, const StitchedRange& range) {
  if (range.ends.size() != range.blocks.size()) return false;
  Bytes end(0);
  for (size_t i = 0; i < range.blocks.size(); ++i) {
    end += memory.blocks[range.blocks[i]].size;
    if (range.ends[i] != end) return false;
  }
  return true;
}

bool IsKnownToItsBlocks(const Memory& memory, RangeId id) {
  const std::vector<BlockId>& blocks = memory.ranges[id].blocks;
  return std::all_of(blocks.begin(), blocks.end(), [&](BlockId block) {
    const std::vector<RangeId>& aliases = memory.blocks[block].aliases;
    return std::find(aliases.begin(), aliases.end(), id) != aliases.end();
  });
}

bool IsSumOfItsBlocks(const Memory& memory, const StitchedRange& range) {
  Bytes size(0);
  for (BlockId block : range.blocks) size += memory.blocks[block].size;
  return size == range.size;
}

template <typename Id>
bool HasTwins(std::vector<Id> ids) {
  std::sort(ids.begin(), ids.end());
  return std::adjacent_find(ids.begin(), ids.end()) != ids.end();
}

}  // namespace

std::string InvariantChecker::Check() const {
  for (auto check : {&InvariantChecker::CheckSpace, &InvariantChecker::CheckBlocks, &InvariantChecker::CheckRanges,
                     &InvariantChecker::CheckLeases, &InvariantChecker::CheckBooks}) {
    std::string problem = (this->*check)();
    if (!problem.empty()) return problem;
  }
  return "";
}

std::string InvariantChecker::CheckSpace() const {
  for (const PrimitiveRange& range : memory_.blocks.ranges()) {
    if (range.granules.empty() || range.granules[0].block == kNone) continue;
    const ChunkId any = memory_.blocks.ChunkAt(range.base);
    std::string problem = memory_.space.CheckRegion(FirstOfRegion(memory_.chunks, any));
    if (!problem.empty()) return problem;
  }
  return "";
}

std::string InvariantChecker::CheckBlocks() const {
  std::string problem;
  Bytes total(0);
  memory_.blocks.ForEach([&](BlockId id) {
    const Block& block = memory_.blocks[id];
    total += block.size;
    for (const Address at : {block.home, block.end() - Bytes(1)}) {
      if (!Covers(memory_.chunks[memory_.blocks.ChunkAt(at)], at))
        problem = "a byte of a block leads to the wrong chunk";
    }
    if (memory_.chunks[memory_.blocks.ChunkAt(block.home)].state == ChunkState::kHole)
      problem = "a block lies in a hole";
  });
  if (total != memory_.blocks.bytes()) problem = "block bytes do not add up";
  if (problem.empty()) problem = CheckSeams();
  if (memory_.reserved() > books_.limit()) problem = "more bytes are held than the limit allows";
  return problem;
}

std::string InvariantChecker::CheckSeams() const {
  std::string problem;
  Bytes seamed(0);
  memory_.blocks.ForEach([&](BlockId id) {
    const Block& block = memory_.blocks[id];
    if (block.size == memory_.blocks.granularity()) return;
    if (CountSeams(memory_, block) != block.seams) problem = "a block does not know its seams";
    if (block.seams > 0) seamed += block.size;
  });
  if (seamed != memory_.blocks.seamed_bytes()) problem = "the bytes of blocks with seams do not add up";
  return problem;
}

// A quarantined range may count one lease more: nobody holds it.
std::string InvariantChecker::CheckRangeLeases() const {
  std::map<RangeId, int> leases;
  const auto count = [&](ChunkId first) {
    if (memory_.chunks[first].range != kNone) ++leases[memory_.chunks[first].range];
  };
  leases_.ForEach([&](Address, ChunkId first) { count(first); });
  pending_.ForEach(count);
  std::string problem;
  memory_.ranges.ForEach([&](RangeId id) {
    const StitchedRange& range = memory_.ranges[id];
    if (range.leases < leases[id] || (range.leases > leases[id] && !range.quarantined)) {
      problem = "a range does not know its leases";
    }
  });
  return problem;
}

// Each address of the stitched ranges is free, in one range, or spoiled.
std::string InvariantChecker::CheckAddresses() const {
  std::string problem = memory_.addresses.Check();
  std::map<Address, Bytes> taken;
  memory_.ranges.ForEach([&](RangeId id) { taken[memory_.ranges[id].base] = memory_.ranges[id].reserved; });
  Address end;
  Bytes known = memory_.addresses.free_bytes() + memory_.addresses.spoiled_bytes();
  for (const auto& [base, size] : taken) {
    if (base < end) problem = "two ranges share addresses";
    if (memory_.addresses.IsFree({base, size})) problem = "a range's addresses are free";
    known += size - memory_.addresses.SpoiledIn({base, size});
    end = base + size;
  }
  if (known != memory_.addresses.reserved()) problem = "addresses are lost";
  return problem;
}

std::string InvariantChecker::CheckRanges() const {
  std::string problem = CheckRangeLeases();
  if (problem.empty()) problem = CheckAddresses();
  if (problem.empty()) problem = memory_.ranges.room().Check();
  return problem.empty() ? CheckRangeBlocks() : problem;
}

std::string InvariantChecker::CheckRangeBlocks() const {
  std::string problem;
  memory_.ranges.ForEach([&](RangeId id) {
    const StitchedRange& range = memory_.ranges[id];
    if (!IsKnownToItsBlocks(memory_, id)) problem = "an alias is not known to its block";
    if (HasTwins(range.blocks)) problem = "a block is twice in a range";
    if (!IsSumOfItsBlocks(memory_, range)) problem = "a stitched range is not the sum of its blocks";
    if (!KnowsEnds(memory_, range)) problem = "a range does not know where its blocks end";
  });
  return problem;
}

// Each used chunk has at most one lease, and the bytes of every lease are used.
std::string InvariantChecker::CheckLeases() const {
  std::vector<ChunkId> owned;
  std::string problem;
  const auto own = [&](ChunkId first) {
    for (ChunkId id = first; id != kNone; id = memory_.chunks[id].next_piece) owned.push_back(id);
  };
  leases_.ForEach([&](Address address, ChunkId first) {
    own(first);
    const Chunk& chunk = memory_.chunks[first];
    if (chunk.range == kNone && chunk.address != address) problem = "a lease is not at its chunk";
  });
  pending_.ForEach(own);
  for (ChunkId id : owned) {
    if (memory_.chunks[id].state != ChunkState::kUsed) problem = "a live lease's bytes are not in use";
  }
  if (HasTwins(owned)) problem = "two leases own the same bytes";
  return problem;
}

// Every byte that is held is free, leased, pending or in quarantine.
std::string InvariantChecker::CheckBooks() const {
  Bytes in_use(0);
  Bytes requested(0);
  leases_.ForEach([&](Address, ChunkId first) {
    for (ChunkId id = first; id != kNone; id = memory_.chunks[id].next_piece) in_use += memory_.chunks[id].size;
    requested += memory_.chunks[first].requested;
  });
  if (in_use != books_.in_use() || requested != books_.kept().bytes_requested) return "bytes in use do not add up";
  if (books_.high_water() < in_use) return "the high-water mark is below what is in use";
  if (leases_.count() != books_.num_allocs() - books_.num_frees()) return "live leases do not add up";
  const Bytes known =
      in_use + pending_.bytes() + memory_.quarantined_blocks + memory_.space.free_bytes() + small_.free_bytes();
  if (known != memory_.blocks.bytes()) return "free and leased bytes do not add up to what is held";
  return "";
}

}  // namespace gmlake
