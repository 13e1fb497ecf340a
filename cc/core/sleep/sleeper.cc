#include "cc/core/sleep/sleeper.h"

#include <algorithm>
#include <chrono>

namespace gmlake {
namespace {

class Watch {
 public:
  double seconds() const { return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count(); }

 private:
  const std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

Bytes SizeOf(const std::vector<Interval>& intervals) {
  Bytes size;
  for (const Interval& interval : intervals) size += interval.size;
  return size;
}

// Intervals come in the order of their addresses, so that neighbours can be joined.
void Append(const Interval& interval, std::vector<Interval>* intervals) {
  if (!intervals->empty() && intervals->back().end() == interval.from) {
    intervals->back().size += interval.size;
  } else {
    intervals->push_back(interval);
  }
}

struct Copied {
  Status status;
  double seconds;
};

// Runs `copy` with the mutex released.
template <typename Copy>
Copied CopyUnlocked(Mutex* mutex, Copy copy) GMLAKE_REQUIRES(mutex) {
  const MutexUnlock unlocked(mutex);
  const Watch copying;
  const Status status = copy();
  return {status, copying.seconds()};
}

}  // namespace

StatusOr<SleepReport> Sleeper::Sleep(const std::unordered_set<ChunkId>& dropped, Mutex* mutex) {
  const Watch total;
  const Contents contents = ContentsOf(dropped);
  switch_.Plan(/*down=*/false);
  state_ = State::kMoving;
  const Copied copied = CopyUnlocked(mutex, [&] { return saved_.Save(contents.kept, contents.dropped); });
  if (!copied.status.ok()) return StayAwake(copied.status);
  const Status status = switch_.UnmapAll();
  if (!status.ok()) return Undo(status);
  state_ = State::kAsleep;
  return SleepReport{saved_.bytes(), SizeOf(contents.dropped), memory_->asleep, copied.seconds, total.seconds()};
}

// Everything is mapped, as it was: the driver is not asked for anything, whatever it would say.
Status Sleeper::StayAwake(const Status& why) {
  state_ = State::kAwake;
  saved_.Forget();
  return Status(why.code(), why.message() + "; nothing has changed");
}

// No block has been released yet, so what is mapped again has its contents.
Status Sleeper::Undo(const Status& why) {
  if (switch_.MapAll().ok()) return StayAwake(why);
  state_ = State::kAsleep;
  return Status(why.code(), why.message() +
                                ", and the driver refused to undo what was done; the device is asleep, its "
                                "contents are safe on the host, and wake() tries again");
}

StatusOr<SleepReport> Sleeper::Wake(Bytes limit, Mutex* mutex) {
  const Watch total;
  if (switch_.is_down()) {
    ForgetFreeBlocks();
    saved_.Clip(memory_->blocks);
    switch_.Plan(/*down=*/true);
  }
  const Bytes missing = memory_->asleep;
  Status status = CheckRoom(limit);
  if (!status.ok()) return status;
  status = switch_.MapAll();
  state_ = State::kMoving;
  const Copied copied = CopyUnlocked(mutex, [&] { return status.ok() ? saved_.Restore() : status; });
  status = copied.status;
  state_ = status.ok() ? State::kAwake : State::kAsleep;
  if (!status.ok()) {
    switch_.Abandon();
    return Status(status.code(), status.message() + "; the device sleeps on, and its contents are safe on the host");
  }
  const SleepReport report{saved_.bytes(), Bytes(0), missing, copied.seconds, total.seconds()};
  saved_.Forget();
  return report;
}

void Sleeper::Read(ChunkId lease, Bytes size, char* to) const {
  for (ChunkId id = lease; id != kNone && size > Bytes(0); id = memory_->chunks[id].next_piece) {
    const Bytes part = std::min(size, memory_->chunks[id].size);
    saved_.Read({memory_->chunks[id].address, part}, to);
    to += part.count();
    size -= part;
  }
}

Status Sleeper::Prepare(std::optional<Bytes> size) {
  return saved_.store().Prepare(size.has_value() ? *size : SizeOf(ContentsOf({}).kept));
}

void Sleeper::ReleaseStore() {
  if (awake()) saved_.store().Clear();
}

// What is leased, large or small (a slab of the small pool is saved whole), in the order of its addresses.
Sleeper::Contents Sleeper::ContentsOf(const std::unordered_set<ChunkId>& dropped) const {
  Contents contents;
  std::unordered_set<ChunkId> unwanted;
  for (ChunkId first : dropped) {
    for (ChunkId id = first; id != kNone; id = memory_->chunks[id].next_piece) {
      unwanted.insert(id);
      contents.dropped.push_back({memory_->chunks[id].address, memory_->chunks[id].size});
    }
  }
  ChunkId last = kNone;
  memory_->blocks.ForEach([&](BlockId id) {
    const Block& block = memory_->blocks[id];
    for (ChunkId at = memory_->blocks.ChunkAt(block.home); at != kNone && memory_->chunks[at].address < block.end();
         at = memory_->chunks[at].next) {
      const Chunk& chunk = memory_->chunks[at];
      if (at == last || chunk.state != ChunkState::kUsed || unwanted.count(at) != 0) continue;
      Append({chunk.address, chunk.size}, &contents.kept);
      last = at;
    }
  });
  return contents;
}

Status Sleeper::CheckRoom(Bytes limit) const {
  const Bytes held = memory_->reserved() + memory_->asleep;
  if (held <= limit) return OkStatus();
  return Status(
      StatusCode::kFailedPrecondition,
      "awake the device holds " + ToString(held) + ", more than its limit of " + ToString(limit) + "; raise the limit");
}

// What was freed while the device slept needs no memory when it wakes.
void Sleeper::ForgetFreeBlocks() {
  std::vector<BlockId> blocks;
  memory_->blocks.ForEach([&](BlockId id) {
    if (IsForgettable(id)) blocks.push_back(id);
  });
  for (BlockId id : blocks) ForgetBlock(id);
}

bool Sleeper::IsForgettable(BlockId id) const { return !HasMemory(id) && memory_->IsFree(id); }

bool Sleeper::HasMemory(BlockId id) const { return memory_->blocks[id].handle.value != 0; }

// Nobody leases it, and none of it stayed mapped while the device slept.
bool Sleeper::IsForgettable(const StitchedRange& range) const {
  return range.leases == 0 &&
         std::all_of(range.blocks.begin(), range.blocks.end(), [this](BlockId id) { return switch_.IsMovable(id); });
}

// A range that is needed for other blocks loses this one only.
void Sleeper::ForgetBlock(BlockId id) {
  while (!memory_->blocks[id].aliases.empty()) {
    const RangeId range = memory_->blocks[id].aliases.back();
    if (IsForgettable(memory_->ranges[range])) {
      memory_->addresses.Give(memory_->ranges.Remove(range));
    } else {
      memory_->addresses.Give(memory_->ranges.CutOut(range, id));
    }
  }
  const Block& block = memory_->blocks[id];
  const ChunkId chunk = memory_->blocks.ChunkAt(block.home);
  memory_->asleep -= block.size;
  memory_->space.Depopulate(chunk, block.home - memory_->chunks[chunk].address, block.size);
  memory_->blocks.Remove(id);
}

}  // namespace gmlake
