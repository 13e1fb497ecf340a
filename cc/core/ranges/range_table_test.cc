#include "cc/core/ranges/range_table.h"

#include <vector>

#include "cc/core/tables/chunk_list.h"
#include "gtest/gtest.h"

namespace gmlake {
namespace {

constexpr Address kHome(uint64_t{1} << 40);
constexpr Address kRange(uint64_t{1} << 41);
constexpr Bytes kBlock = MiB(4);
constexpr int64_t kAnyMoment = 1 << 20;

// Eight free blocks, side by side at home. What the table remembers of blocks in use must never outlive their use.
class RangeTableTest : public testing::Test {
 protected:
  RangeTableTest() {
    blocks_.AddRange(kHome, GiB(1));
    space_.AddRegion(kHome, 8 * kBlock, ChunkState::kFree);
    for (int i = 0; i < 8; ++i) block_.push_back(blocks_.Add({}, kHome + i * kBlock, kBlock));
  }

  // The blocks in this order, as one range.
  RangeId Stitch(const std::vector<int>& numbers) { return ranges_.Add(kRange, GiB(1), Blocks(numbers)); }
  std::vector<BlockId> Blocks(const std::vector<int>& numbers) const {
    std::vector<BlockId> blocks;
    for (int i : numbers) blocks.push_back(block_[i]);
    return blocks;
  }
  ChunkId Use(int number) {
    const Address home = blocks_[block_[number]].home;
    const ChunkId free = blocks_.ChunkAt(home);
    return space_.Take(free, home - chunks_[free].address, kBlock);
  }
  Spot FindSpot(Bytes request) { return ranges_.room().FindSpot(request, /*seamless=*/false); }
  const CachedStitch* FindCachedStitch(Bytes request) {
    return ranges_.FindCachedStitch(request, kAnyMoment, /*seamless=*/false);
  }

  ChunkStore chunks_;
  BlockTable blocks_{MiB(2), &chunks_};
  ChunkList space_{&chunks_, &blocks_, /*small=*/false};
  RangeTable ranges_{&blocks_, &chunks_, /*few_ranges=*/0};
  std::vector<BlockId> block_;
};

TEST_F(RangeTableTest, ABlockThatBlockedTheWayIsFreedAndFound) {
  const RangeId range = Stitch({6, 4, 2});
  const ChunkId used = Use(4);
  EXPECT_EQ(FindSpot(2 * kBlock).range, kNone);
  space_.Give(used);
  const Spot spot = FindSpot(2 * kBlock);
  EXPECT_EQ(spot.range, range);
  EXPECT_EQ(spot.offset, Bytes(0));
}

// The bytes in the way are freed, and the number of their chunk names one in use elsewhere.
TEST_F(RangeTableTest, ANumberUsedAgainIsNotInTheWay) {
  const RangeId range = Stitch({6, 4, 2});
  ranges_.AddCachedStitch(2 * kBlock, range, Bytes(0), /*moment=*/1);
  const ChunkId used = Use(4);
  EXPECT_EQ(FindSpot(2 * kBlock).range, kNone);
  EXPECT_EQ(FindCachedStitch(2 * kBlock), nullptr);
  space_.Give(used);
  for (int i : {0, 1, 2}) Use(i);
  ASSERT_EQ(chunks_[used].state, ChunkState::kUsed) << "the number was not used again: the test tests nothing";
  EXPECT_EQ(FindSpot(2 * kBlock).range, range);
  EXPECT_NE(FindCachedStitch(2 * kBlock), nullptr);
}

TEST_F(RangeTableTest, ARangeThatBecameLongerIsLookedThroughAgain) {
  const RangeId range = Stitch({6, 4, 2});
  Use(4);
  EXPECT_EQ(FindSpot(2 * kBlock).range, kNone);
  ranges_.Extend(range, Blocks({0}));
  const Spot spot = FindSpot(2 * kBlock);
  EXPECT_EQ(spot.range, range);
  EXPECT_EQ(spot.offset, 2 * kBlock);
}

// Smaller requests may fit where a larger one did not.
TEST_F(RangeTableTest, WhatIsTooBusyForOneRequestIsNotForASmallerOne) {
  const RangeId range = Stitch({6, 4, 2, 0});
  Use(4);
  EXPECT_EQ(FindSpot(3 * kBlock).range, kNone);
  const Spot spot = FindSpot(2 * kBlock);
  EXPECT_EQ(spot.range, range);
  EXPECT_EQ(spot.offset, 2 * kBlock);
}

// The block that was in the way is cut out, and gone.
TEST_F(RangeTableTest, ABlockThatIsGoneIsNotAskedAgain) {
  const RangeId range = Stitch({0, 6, 4, 2, 1, 7});
  const ChunkId used = Use(6);
  Use(1);
  EXPECT_EQ(FindSpot(4 * kBlock).range, kNone);
  space_.Give(used);
  ranges_.CutOut(range, block_[6]);
  space_.Depopulate(blocks_.ChunkAt(kHome), 6 * kBlock, kBlock);
  blocks_.Remove(block_[6]);
  EXPECT_EQ(FindSpot(4 * kBlock).range, kNone);
  const Spot spot = FindSpot(2 * kBlock);
  EXPECT_NE(spot.range, kNone);
  EXPECT_NE(spot.range, range) << "only what lay behind the cut has so much";
}

// There are so many ranges that to read all that is in the log would pay.
TEST_F(RangeTableTest, WhatCameFreeWhenTheLogWasFullIsFound) {
  for (size_t i = 0; i < 2 * FreeLog::kMost; ++i) ranges_.Add(kRange + i * GiB(1), GiB(1), Blocks({6, 4, 2}));
  const ChunkId used = Use(4);
  EXPECT_EQ(FindSpot(2 * kBlock).range, kNone);
  for (size_t i = 0; i < FreeLog::kMost; ++i) space_.Give(Use(0));
  space_.Give(used);
  EXPECT_EQ(FindSpot(2 * kBlock).range, 0);
}

TEST_F(RangeTableTest, ABlockOfWhichOnlyTheFrontIsFreeIsInTheWay) {
  const RangeId range = Stitch({6, 4, 2});
  ranges_.AddCachedStitch(2 * kBlock, range, Bytes(0), /*moment=*/1);
  space_.Take(blocks_.ChunkAt(kHome), 6 * kBlock + kBlock / 2, kBlock / 2);
  EXPECT_EQ(FindCachedStitch(2 * kBlock), nullptr);
  EXPECT_EQ(FindSpot(3 * kBlock).range, kNone);
  EXPECT_EQ(FindSpot(2 * kBlock).offset, kBlock);
}

TEST_F(RangeTableTest, ACachedStitchBehindACutKnowsItsBlocks) {
  const RangeId range = Stitch({0, 6, 4, 2});
  ranges_.AddCachedStitch(kBlock, range, 3 * kBlock, /*moment=*/1);
  ranges_.AddCachedStitch(2 * kBlock, range, kBlock, /*moment=*/2);
  ranges_.CutOut(range, block_[6]);
  EXPECT_EQ(FindCachedStitch(2 * kBlock), nullptr) << "it used the block that is gone";
  const CachedStitch* stitch = FindCachedStitch(kBlock);
  ASSERT_NE(stitch, nullptr);
  EXPECT_NE(stitch->range, range);
  EXPECT_EQ(stitch->offset, kBlock);
  Use(4);
  EXPECT_NE(FindCachedStitch(kBlock), nullptr) << "the block before it is none of its own";
  Use(2);
  EXPECT_EQ(FindCachedStitch(kBlock), nullptr);
}

// The first that was used is the first that is taken, unless it was used too late.
TEST_F(RangeTableTest, CachedStitchesAreTakenInTheOrderOfTheirFirstUse) {
  const RangeId range = Stitch({0, 6, 4, 2});
  ranges_.AddCachedStitch(kBlock, range, kBlock, /*moment=*/5);
  ranges_.AddCachedStitch(kBlock, range, Bytes(0), /*moment=*/7);
  EXPECT_EQ(FindCachedStitch(kBlock)->offset, kBlock);
  Use(6);
  EXPECT_EQ(FindCachedStitch(kBlock)->offset, Bytes(0));
  EXPECT_EQ(ranges_.FindCachedStitch(kBlock, /*moment=*/6, /*seamless=*/false), nullptr);
}

// Sizes enough for the book to grow a few times; then one range is forgotten.
TEST_F(RangeTableTest, ForgetsTheCachedStitchesOfOneRangeAmongMany) {
  const RangeId range = Stitch({0, 1, 2, 3});
  const RangeId other = ranges_.Add(kRange + GiB(1), GiB(1), Blocks({4, 5, 6, 7}));
  for (int i = 1; i <= 1000; ++i) ranges_.AddCachedStitch(Bytes(256 * i), i % 3 == 0 ? other : range, Bytes(0), i);
  ranges_.RemoveCachedStitches(range);
  for (int i = 1; i <= 1000; ++i) EXPECT_EQ(FindCachedStitch(Bytes(256 * i)) != nullptr, i % 3 == 0) << i;
}

}  // namespace
}  // namespace gmlake
