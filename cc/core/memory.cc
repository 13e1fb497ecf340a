#include "cc/core/memory.h"

#include <algorithm>

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
  for (ChunkId id = first; id != kNone;) {
    const ChunkId next = chunks[id].next_piece;
    space.Give(id);
    id = next;
  }
}

void Memory::AvoidWreckage() {
  for (const Wreckage::Place& place : wreckage.mapped) {
    SpoilHole(place);
    Pin(place.block);
  }
  wreckage.mapped.clear();
}

// Places outside the holes are in a range of their own, which is never used again.
void Memory::SpoilHole(const Wreckage::Place& place) {
  const std::vector<ChunkId>& holes = space.holes();
  const auto hole = std::find_if(holes.begin(), holes.end(), [&](ChunkId id) {
    return chunks[id].address <= place.address && place.address < chunks[id].end();
  });
  if (hole != holes.end()) space.Spoil(*hole, place.address - chunks[*hole].address, place.size);
}

void Memory::Pin(BlockHandle handle) {
  blocks.ForEach([&](BlockId id) {
    if (blocks[id].handle.value == handle.value) blocks[id].pinned = true;
  });
}

ChunkId Memory::TakeInterval(Address from, Address to) {
  ChunkId free = blocks[blocks.At(from)].first_chunk;
  while (chunks[free].end() <= from) free = chunks[free].next;
  const ChunkId used = space.Take(free, from - chunks[free].address, to - from);
  chunks[used].next_piece = kNone;
  return used;
}

}  // namespace gmlake
