#include "cc/core/ranges/range_room.h"

#include <algorithm>
#include <limits>
#include <random>
#include <vector>

#include "cc/core/ranges/range_table.h"
#include "cc/core/tables/chunk_list.h"
#include "gtest/gtest.h"

namespace gmlake {
namespace {

constexpr Address kHome(uint64_t{1} << 40);
constexpr Bytes kUnit = MiB(1);  // half a granule: everything in this test is a multiple of it

struct Extent {
  RangeId range;
  Bytes offset;
  Bytes size;
};

// Memory in which anything may happen, and the plain way to find room in its ranges: a look at every unit of each.
class AnyMemory {
 public:
  explicit AnyMemory(uint64_t seed) : random_(seed) {
    blocks_.AddRange(kHome, GiB(4));
    Bytes size;
    for (int i = 0; i < 60; ++i) size += AddBlock(kHome + size);
    space_.AddRegion(kHome, size, ChunkState::kFree);
    size_ = size;
  }

  // For a while there is more taken than given, then the other way round.
  void Step() {
    const uint64_t most_takes = ++num_steps_ % 300 < 150 ? 80 : 40;
    const uint64_t what = Below(100);
    if (what >= 94) return ChangeRanges(what - 94);
    if (what < most_takes) return Take();
    if (!used_.empty()) Give();
  }
  // More leases end than a log of frees holds.
  void GiveMany() {
    for (size_t i = 0; i < 2 * FreeLog::kMost; ++i) used_.empty() ? Take() : Give();
  }
  void SealOne() {
    if (const RangeId id = AnyRange(); id != kNone) ranges_[id].sealed = true;
  }
  void QuarantineOne() {
    if (const RangeId id = AnyRange(); id != kNone) ranges_[id].quarantined = true;
  }

  Spot FindSpotPlainly(Bytes request, bool seamless) {
    Spot best;
    Bytes smallest(std::numeric_limits<int64_t>::max());
    for (const Extent& extent : Extents()) {
      if (extent.size < request || extent.size >= smallest || ranges_[extent.range].quarantined) continue;
      for (const Bytes offset : {extent.offset, extent.offset + extent.size - request}) {
        if (seamless && !room().IsSeamless(extent.range, offset, request)) continue;
        best = {extent.range, offset};
        smallest = extent.size;
        break;
      }
    }
    return best;
  }
  Run LongestRunPlainly(Bytes most) {
    Run longest;
    ranges_.ForEach([&](RangeId id) {
      const Run run = LastRun(ranges_[id], id, most);
      const bool may_grow = !ranges_[id].sealed && !ranges_[id].quarantined;
      if (may_grow && run.size > longest.size) longest = run;
    });
    return longest;
  }

  RangeRoom& room() { return ranges_.room(); }
  uint64_t Below(uint64_t limit) { return random_() % limit; }
  Bytes AnySize() { return kUnit * static_cast<int64_t>(1 + Below(Below(2) == 0 ? 8 : 100)); }

 private:
  void ChangeRanges(uint64_t what) {
    switch (what) {
      case 0: return Extend();
      case 1: return CutOut();
      case 2: return Remove();
      default: return Add();
    }
  }
  Bytes AddBlock(Address home) {
    const Bytes size = MiB(2) * static_cast<int64_t>(1 + Below(6));
    block_.push_back(blocks_.Add({}, home, size));
    return size;
  }
  // From any unit that is free, as much as there is of a random size.
  void Take() {
    const Address from = kHome + kUnit * static_cast<int64_t>(Below(static_cast<uint64_t>(size_ / kUnit)));
    const ChunkId id = blocks_.ChunkAt(from);
    if (chunks_[id].state != ChunkState::kFree) return;
    used_.push_back(space_.Take(id, from - chunks_[id].address, std::min(AnySize(), chunks_[id].end() - from)));
  }
  void Give() {
    std::swap(used_[Below(used_.size())], used_.back());
    space_.Give(used_.back());
    used_.pop_back();
  }
  void Add() {
    std::vector<BlockId> blocks = block_;
    std::shuffle(blocks.begin(), blocks.end(), random_);
    blocks.resize(1 + Below(30));
    ranges_.Add(Address((++num_added_ + 4096) << 40), GiB(8), blocks);
  }
  void Extend() {
    const RangeId id = AnyRange();
    const BlockId block = block_[Below(block_.size())];
    if (id == kNone) return;
    const std::vector<BlockId>& blocks = ranges_[id].blocks;
    if (std::find(blocks.begin(), blocks.end(), block) == blocks.end()) ranges_.Extend(id, {block});
  }
  void CutOut() {
    const RangeId id = AnyRange();
    if (id == kNone || ranges_[id].blocks.size() == 1) return;
    ranges_.CutOut(id, ranges_[id].blocks[Below(ranges_[id].blocks.size())]);
  }
  void Remove() {
    if (const RangeId id = AnyRange(); id != kNone) ranges_.Remove(id);
  }
  RangeId AnyRange() {
    std::vector<RangeId> ids;
    ranges_.ForEach([&](RangeId id) { ids.push_back(id); });
    return ids.empty() ? kNone : ids[Below(ids.size())];
  }

  bool IsFree(Address at) const { return chunks_[blocks_.ChunkAt(at)].state == ChunkState::kFree; }
  std::vector<bool> FreeUnits(const StitchedRange& range) const {
    std::vector<bool> free;
    for (BlockId id : range.blocks) {
      for (Address at = blocks_[id].home; at < blocks_[id].end(); at = at + kUnit) free.push_back(IsFree(at));
    }
    return free;
  }
  // Not those inside a block.
  std::vector<Extent> Extents() const {
    std::vector<Extent> extents;
    ranges_.ForEach([&](RangeId id) {
      const std::vector<bool> free = FreeUnits(ranges_[id]);
      for (size_t from = 0, to = 0; from < free.size(); from = to + 1) {
        for (to = from; to < free.size() && free[to]; ++to) continue;
        const Extent extent{id, Bytes(from * kUnit), Bytes((to - from) * kUnit)};
        if (to > from && TouchesAnEdge(ranges_[id], extent)) extents.push_back(extent);
      }
    });
    return extents;
  }
  static bool TouchesAnEdge(const StitchedRange& range, const Extent& extent) {
    return extent.offset == Bytes(0) || std::any_of(range.ends.begin(), range.ends.end(), [&](Bytes end) {
             return extent.offset <= end && end <= extent.offset + extent.size;
           });
  }
  Run LastRun(const StitchedRange& range, RangeId id, Bytes most) const {
    const std::vector<bool> free = FreeUnits(range);
    Run run{id, range.size, Bytes(0), range.blocks.size()};
    for (bool whole = true; whole && run.first_block > 0;) {
      const Bytes start = range.StartOf(run.first_block - 1);
      Bytes from = run.offset;
      while (from > start && free[from / kUnit - 1]) from -= kUnit;
      if (from == run.offset || range.size - from > most) break;
      run.size = range.size - from;
      run.offset = from;
      --run.first_block;
      whole = from == start;
    }
    return run;
  }

  std::mt19937_64 random_;
  ChunkStore chunks_;
  BlockTable blocks_{MiB(2), &chunks_};
  ChunkList space_{&chunks_, &blocks_, /*small=*/false};
  RangeTable ranges_{&blocks_, &chunks_, /*few_ranges=*/30};  // soon there are more
  std::vector<BlockId> block_;
  std::vector<ChunkId> used_;
  Bytes size_;
  uint64_t num_added_ = 0;
  uint64_t num_steps_ = 0;
};

class RangeRoomTest : public testing::TestWithParam<int> {};

TEST_P(RangeRoomTest, FindsWhatALookAtEverythingFinds) {
  AnyMemory memory(GetParam());
  int num_found = 0;
  for (int look = 0; look < 500; ++look) {
    for (uint64_t steps = memory.Below(look % 10 == 0 ? 200 : 8); steps > 0; --steps) memory.Step();
    if (look % 100 == 99) memory.GiveMany();
    if (look % 100 == 50) memory.QuarantineOne();
    ASSERT_EQ(memory.room().Check(), "");
    const Bytes request = memory.AnySize();
    const bool seamless = look % 3 == 0;
    const Spot expected = memory.FindSpotPlainly(request, seamless);
    const Spot spot = memory.room().FindSpot(request, seamless);
    ASSERT_EQ(spot.range, expected.range) << look;
    ASSERT_EQ(spot.offset, expected.offset) << look;
    num_found += spot.range != kNone;
  }
  EXPECT_GT(num_found, 50);
  EXPECT_LT(num_found, 450);
}

TEST_P(RangeRoomTest, FindsTheLongestEndThatALookAtEverythingFinds) {
  AnyMemory memory(GetParam());
  int num_found = 0;
  for (int look = 0; look < 500; ++look) {
    for (uint64_t steps = memory.Below(30); steps > 0; --steps) memory.Step();
    if (look % 50 == 0) memory.SealOne();
    if (look % 50 == 25) memory.QuarantineOne();
    if (look % 2 == 0) memory.room().FindSpot(memory.AnySize(), /*seamless=*/false);
    const Bytes most = memory.AnySize();
    const auto expected = memory.LongestRunPlainly(most);
    const auto run = memory.room().LongestRun(most);
    ASSERT_EQ(run.range, expected.range) << look;
    ASSERT_EQ(run.offset, expected.offset) << look;
    ASSERT_EQ(run.size, expected.size) << look;
    ASSERT_EQ(run.first_block, expected.first_block) << look;
    num_found += run.range != kNone;
  }
  EXPECT_GT(num_found, 50);
}

INSTANTIATE_TEST_SUITE_P(Seeds, RangeRoomTest, testing::Range(1, 9));

}  // namespace
}  // namespace gmlake
