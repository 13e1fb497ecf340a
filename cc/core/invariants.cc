// Allocator::CheckInvariants: the tables walked from end to end. A part of the allocator, in a file of its own because
// it is for tests and grows with them.
#include <algorithm>
#include <map>

#include "cc/core/allocator.h"

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

// Does it know where each of its blocks ends?
bool KnowsEnds(const Memory& memory, const StitchedRange& range) {
  if (range.ends.size() != range.blocks.size()) return false;
  Bytes end(0);
  for (size_t i = 0; i < range.blocks.size(); ++i) {
    end += memory.blocks[range.blocks[i]].size;
    if (range.ends[i] != end) return false;
  }
  return true;
}

}  // namespace

std::string Allocator::CheckInvariants() const {
  std::lock_guard<std::mutex> lock(mutex_);
  for (auto check : {&Allocator::CheckSpace, &Allocator::CheckBlocks, &Allocator::CheckRanges, &Allocator::CheckLeases,
                     &Allocator::CheckBooks}) {
    std::string problem = (this->*check)();
    if (!problem.empty()) return problem;
  }
  return "";
}

std::string Allocator::CheckSpace() const {
  for (const PrimitiveRange& range : parts_.memory.blocks.ranges()) {
    if (range.granules.empty() || range.granules[0].block == kNone) continue;
    const ChunkId any = parts_.memory.blocks.ChunkAt(range.base);
    std::string problem = parts_.memory.space.CheckRegion(FirstOfRegion(parts_.memory.chunks, any));
    if (!problem.empty()) return problem;
  }
  return "";
}

std::string Allocator::CheckBlocks() const {
  std::string problem;
  Bytes total(0);
  parts_.memory.blocks.ForEach([&](BlockId id) {
    const Block& block = parts_.memory.blocks[id];
    total += block.size;
    for (const Address at : {block.home, block.end() - Bytes(1)}) {
      if (!Covers(parts_.memory.chunks[parts_.memory.blocks.ChunkAt(at)], at))
        problem = "a byte of a block leads to the wrong chunk";
    }
    if (parts_.memory.chunks[parts_.memory.blocks.ChunkAt(block.home)].state == ChunkState::kHole)
      problem = "a block lies in a hole";
  });
  if (total != parts_.memory.blocks.bytes()) problem = "block bytes do not add up";
  if (problem.empty()) problem = CheckSeams();
  if (parts_.memory.reserved() > parts_.books.limit()) problem = "more bytes are held than the limit allows";
  return problem;
}

std::string Allocator::CheckSeams() const {
  std::string problem;
  Bytes seamed(0);
  parts_.memory.blocks.ForEach([&](BlockId id) {
    const Block& block = parts_.memory.blocks[id];
    if (block.size == parts_.memory.blocks.granularity()) return;
    if (CountSeams(parts_.memory, block) != block.seams) problem = "a block does not know its seams";
    if (block.seams > 0) seamed += block.size;
  });
  if (seamed != parts_.memory.blocks.seamed_bytes()) problem = "the bytes of blocks with seams do not add up";
  return problem;
}

// A quarantined range has one lease that nobody holds.
std::string Allocator::CheckRangeLeases() const {
  std::map<RangeId, int> leases;
  const auto count = [&](ChunkId first) {
    if (parts_.memory.chunks[first].range != kNone) ++leases[parts_.memory.chunks[first].range];
  };
  parts_.leases.ForEach([&](Address, ChunkId first) { count(first); });
  parts_.pending.ForEach(count);
  std::string problem;
  parts_.memory.ranges.ForEach([&](RangeId id) {
    const StitchedRange& range = parts_.memory.ranges[id];
    if (range.leases < leases[id] || (range.leases > leases[id] && !range.quarantined)) {
      problem = "a range does not know its leases";
    }
  });
  return problem;
}

// The addresses of stitched ranges: each is free, in one range, or spoiled.
std::string Allocator::CheckAddresses() const {
  std::string problem = parts_.memory.addresses.Check();
  std::map<Address, Bytes> taken;
  parts_.memory.ranges.ForEach(
      [&](RangeId id) { taken[parts_.memory.ranges[id].base] = parts_.memory.ranges[id].reserved; });
  Address end;
  Bytes known = parts_.memory.addresses.free_bytes() + parts_.memory.addresses.spoiled_bytes();
  for (const auto& [base, size] : taken) {
    if (base < end) problem = "two ranges share addresses";
    if (parts_.memory.addresses.IsFree({base, size})) problem = "a range's addresses are free";
    known += size - parts_.memory.addresses.SpoiledIn({base, size});
    end = base + size;
  }
  if (known != parts_.memory.addresses.reserved()) problem = "addresses are lost";
  return problem;
}

std::string Allocator::CheckRanges() const {
  std::string problem = CheckRangeLeases();
  if (problem.empty()) problem = CheckAddresses();
  if (problem.empty()) problem = parts_.memory.ranges.room().Check();
  parts_.memory.ranges.ForEach([&](RangeId id) {
    Bytes size(0);
    for (BlockId block : parts_.memory.ranges[id].blocks) {
      size += parts_.memory.blocks[block].size;
      const std::vector<RangeId>& aliases = parts_.memory.blocks[block].aliases;
      if (std::find(aliases.begin(), aliases.end(), id) == aliases.end())
        problem = "an alias is not known to its block";
    }
    std::vector<BlockId> blocks = parts_.memory.ranges[id].blocks;
    std::sort(blocks.begin(), blocks.end());
    if (std::adjacent_find(blocks.begin(), blocks.end()) != blocks.end()) problem = "a block is twice in a range";
    if (size != parts_.memory.ranges[id].size) problem = "a stitched range is not the sum of its blocks";
    if (!KnowsEnds(parts_.memory, parts_.memory.ranges[id])) problem = "a range does not know where its blocks end";
  });
  return problem;
}

// Each used chunk has at most one owner, and every lease's bytes are used.
std::string Allocator::CheckLeases() const {
  std::vector<ChunkId> owned;
  std::string problem;
  const auto own = [&](ChunkId first) {
    for (ChunkId id = first; id != kNone; id = parts_.memory.chunks[id].next_piece) owned.push_back(id);
  };
  parts_.leases.ForEach([&](Address address, ChunkId first) {
    own(first);
    const Chunk& chunk = parts_.memory.chunks[first];
    if (chunk.range == kNone && chunk.address != address) problem = "a lease is not at its chunk";
  });
  parts_.pending.ForEach(own);
  for (ChunkId id : owned) {
    if (parts_.memory.chunks[id].state != ChunkState::kUsed) problem = "a live lease's bytes are not in use";
  }
  std::sort(owned.begin(), owned.end());
  if (std::adjacent_find(owned.begin(), owned.end()) != owned.end()) problem = "two leases own the same bytes";
  return problem;
}

// What is held is free, leased, or in doubt: nothing is lost.
std::string Allocator::CheckBooks() const {
  Bytes in_use(0);
  Bytes requested(0);
  parts_.leases.ForEach([&](Address, ChunkId first) {
    for (ChunkId id = first; id != kNone; id = parts_.memory.chunks[id].next_piece)
      in_use += parts_.memory.chunks[id].size;
    requested += parts_.memory.chunks[first].requested;
  });
  if (in_use != parts_.books.in_use() || requested != parts_.books.kept().bytes_requested)
    return "bytes in use do not add up";
  if (parts_.books.high_water() < in_use) return "the high-water mark is below what is in use";
  if (parts_.leases.count() != parts_.books.num_allocs() - parts_.books.num_frees()) return "live leases do not add up";
  const Bytes known = in_use + parts_.pending.bytes() + parts_.memory.quarantined_blocks +
                      parts_.memory.space.free_bytes() + parts_.small.free_bytes();
  if (known != parts_.memory.blocks.bytes()) return "free and leased bytes do not add up to what is held";
  return "";
}

}  // namespace gmlake
