#include "cc/core/ranges/memory.h"

namespace gmlake {

// Pieces that follow each other at home too become one chunk.
ChunkId Memory::Take(const std::vector<Piece>& pieces) {
  ChunkId first = kNone;
  ChunkId last = kNone;
  for (size_t i = 0; i < pieces.size();) {
    const Address from = blocks[pieces[i].block].home + pieces[i].from;
    Address to = from + pieces[i].size();
    for (++i; i < pieces.size() && blocks[pieces[i].block].home + pieces[i].from == to; ++i) {
      to = to + pieces[i].size();
    }
    const ChunkId chunk = TakeInterval(from, to);
    (first == kNone ? first : chunks[last].next_piece) = chunk;
    last = chunk;
  }
  return first;
}

void Memory::Give(ChunkId first) {
  ++epoch_;
  EndLeaseOf(chunks[first].range);
  for (ChunkId id = first; id != kNone;) {
    const ChunkId next = chunks[id].next_piece;
    chunks[id].freed = epoch_;
    space.Give(id);
    id = next;
  }
}

void Memory::EndLeaseOf(RangeId range) {
  if (range == kNone) return;
  --ranges[range].leases;
  ranges[range].freed = epoch_;
}

void Memory::AvoidUnreleased() {
  for (const Unreleased::Place& place : unreleased.mapped) {
    SpoilPlace(place);
    Pin(place.block);
  }
  unreleased.mapped.clear();
}

// A place in no hole is at the end of a stitched range, or in one that was never finished.
void Memory::SpoilPlace(const Unreleased::Place& place) {
  const ChunkId hole = HoleAt(place.address);
  if (hole != kNone) return space.Retire(hole, place.address - chunks[hole].address, place.size);
  ranges.Seal(place.address);
  addresses.Spoil({place.address, place.size});
}

void Memory::TakeBackRoom() {
  ranges.ForEach([this](RangeId id) { addresses.Give(ranges.TakeBackRoom(id)); });
}

void Memory::Pin(BlockHandle handle) {
  blocks.ForEach([&](BlockId id) {
    if (blocks[id].handle.value == handle.value) blocks[id].pinned = true;
  });
}

bool Memory::IsFree(BlockId id) const {
  const Block& block = blocks[id];
  const Chunk& chunk = chunks[blocks.ChunkAt(block.home)];
  return chunk.state == ChunkState::kFree && block.end() <= chunk.end();
}

ChunkId Memory::HoleAt(Address address) const {
  for (ChunkId hole : space.holes()) {
    if (chunks[hole].address <= address && address < chunks[hole].end()) return hole;
  }
  return kNone;
}

ChunkId Memory::TakeInterval(Address from, Address to) {
  const ChunkId free = blocks.ChunkAt(from);
  const ChunkId used = space.Take(free, from - chunks[free].address, to - from);
  chunks[used].next_piece = kNone;
  return used;
}

}  // namespace gmlake
