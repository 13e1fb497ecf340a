#include "cc/core/tables/chunk_list.h"

#include <random>
#include <vector>

#include "gtest/gtest.h"

namespace gmlake {
namespace {

constexpr Address kBase(uint64_t{1} << 40);

class ChunkListTest : public testing::Test {
 protected:
  ChunkStore chunks_;
  BlockTable blocks_{MiB(2), &chunks_};
  ChunkList list_{&chunks_, &blocks_, false};
};

TEST_F(ChunkListTest, TakesFromTheMiddleAndCoalescesBack) {
  const ChunkId all = list_.AddRegion(kBase, MiB(10), ChunkState::kFree);
  const ChunkId used = list_.Take(all, MiB(4), MiB(2));
  EXPECT_EQ(chunks_[used].address, kBase + MiB(4));
  EXPECT_EQ(list_.free_bytes(), MiB(8));
  const ChunkId again = list_.Give(used);
  EXPECT_TRUE(list_.IsWholeRegion(again));
  EXPECT_EQ(chunks_[again].size, MiB(10));
  EXPECT_EQ(chunks_.count(), 1);
}

TEST_F(ChunkListTest, HolesOpenAndClose) {
  const ChunkId hole = list_.AddRegion(kBase, MiB(10), ChunkState::kHole);
  EXPECT_EQ(list_.BestFit(MiB(2)), kNone);
  const ChunkId free = list_.FinishPopulate(list_.Populate(hole, Bytes(0), MiB(4)));
  EXPECT_EQ(list_.BestFit(MiB(2)), kNone);
  EXPECT_EQ(list_.TailFit(MiB(2)), free);
  list_.Depopulate(free, MiB(2), MiB(2));
  EXPECT_EQ(list_.free_bytes(), MiB(2));
  EXPECT_NE(list_.TailFit(MiB(2)), kNone);
  ASSERT_EQ(list_.holes().size(), 1u);
  EXPECT_EQ(chunks_[list_.holes()[0]].size, MiB(8));
}

// What lies before a hole is where its region grows only as long as nothing comes after the hole.
TEST_F(ChunkListTest, ATailEndsWhereTheHoleBehindItIsFilledInItsMiddle) {
  const ChunkId hole = list_.AddRegion(kBase, MiB(20), ChunkState::kHole);
  const ChunkId tail = list_.FinishPopulate(list_.Populate(hole, Bytes(0), MiB(4)));
  ASSERT_EQ(list_.TailFit(MiB(4)), tail);
  const ChunkId middle = list_.FinishPopulate(list_.Populate(list_.holes()[0], MiB(6), MiB(2)));
  EXPECT_EQ(list_.BestFit(MiB(4)), tail);
  EXPECT_EQ(list_.TailFit(MiB(2)), middle);
  EXPECT_EQ(list_.CheckRegion(tail), "");
}

TEST_F(ChunkListTest, ATailEndsWhereTheHoleBehindItIsSpoilt) {
  const ChunkId hole = list_.AddRegion(kBase, MiB(20), ChunkState::kHole);
  const ChunkId tail = list_.FinishPopulate(list_.Populate(hole, Bytes(0), MiB(4)));
  list_.Retire(list_.holes()[0], MiB(6), MiB(2));
  EXPECT_EQ(list_.BestFit(MiB(4)), tail);
  EXPECT_EQ(list_.CheckRegion(tail), "");
}

// A block must lead to the chunks over its first and last byte through any sequence of splits and merges.
TEST_F(ChunkListTest, BlocksFollowSplitsAndMerges) {
  std::mt19937_64 random(3);
  blocks_.AddRange(kBase, GiB(1));
  list_.AddRegion(kBase, MiB(64), ChunkState::kFree);
  for (int i = 0; i < 16; ++i) blocks_.Add({}, kBase + MiB(4 * i), MiB(4));
  std::vector<ChunkId> used;
  for (int step = 0; step < 5000; ++step) {
    const Bytes size(256 * (1 + random() % 20000));
    const ChunkId free = list_.BestFit(size);
    if (free != kNone && random() % 2 == 0) {
      used.push_back(list_.Take(free, (chunks_[free].size - size) / 256 / 3 * 256, size));
    } else if (!used.empty()) {
      std::swap(used[random() % used.size()], used.back());
      list_.Give(used.back());
      used.pop_back();
    }
    blocks_.ForEach([&](BlockId id) {
      for (const Address at : {blocks_[id].home, blocks_[id].end() - Bytes(1)}) {
        const Chunk& chunk = chunks_[blocks_.ChunkAt(at)];
        ASSERT_LE(chunk.address, at);
        ASSERT_LT(at, chunk.end());
      }
    });
    ChunkId first = blocks_.ChunkAt(kBase);
    ASSERT_EQ(list_.CheckRegion(first), "");
  }
}

}  // namespace
}  // namespace gmlake
