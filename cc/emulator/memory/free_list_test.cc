#include "cc/emulator/memory/free_list.h"

#include <gtest/gtest.h>

#include <map>

namespace gmlake::emulator {
namespace {

using Pieces = std::map<uint64_t, uint64_t>;

FreeList Holed() {  // [0, 10) [20, 24) [30, 36)
  FreeList list;
  list.Give(0, 10);
  list.Give(20, 4);
  list.Give(30, 6);
  return list;
}

TEST(FreeListTest, JoinsNeighbours) {
  FreeList list = Holed();
  list.Give(24, 6);
  EXPECT_EQ(list.pieces(), (Pieces{{0, 10}, {20, 16}}));
  list.Give(10, 10);
  EXPECT_EQ(list.pieces(), (Pieces{{0, 36}}));
}

TEST(FreeListTest, TakesAMiddleAndLeavesBothSides) {
  FreeList list = Holed();
  list.Take(2, 3);
  EXPECT_EQ(list.pieces(), (Pieces{{0, 2}, {5, 5}, {20, 4}, {30, 6}}));
}

TEST(FreeListTest, KnowsWhetherARangeIsFree) {
  const FreeList list = Holed();
  EXPECT_TRUE(list.Holds(30, 6));
  EXPECT_FALSE(list.Holds(30, 7));
  EXPECT_FALSE(list.Holds(9, 12));
  EXPECT_FALSE(list.Holds(15, 1));
}

TEST(FreeListTest, BestFitTakesTheSmallestPieceThatSuffices) {
  FreeList list = Holed();
  EXPECT_EQ(list.TakeBestFit(5), 30u);
  EXPECT_EQ(list.TakeBestFit(5), 0u);
  EXPECT_EQ(list.TakeBestFit(6), std::nullopt);
}

TEST(FreeListTest, NextFitGoesRound) {
  FreeList list = Holed();
  EXPECT_EQ(list.TakeNextFit(4, 1, 20), 20u);
  EXPECT_EQ(list.TakeNextFit(4, 1, 24), 30u);
  EXPECT_EQ(list.TakeNextFit(4, 1, 34), 0u);
}

TEST(FreeListTest, NextFitAligns) {
  FreeList list = Holed();
  EXPECT_EQ(list.TakeNextFit(2, 8, 1), 8u);
  EXPECT_EQ(list.TakeNextFit(4, 16, 9), 32u);
  EXPECT_EQ(list.TakeNextFit(4, 16, 9), 0u);
  EXPECT_EQ(list.TakeNextFit(4, 16, 9), std::nullopt);
}

TEST(FreeListTest, TakesWhatTheFirstPieceHas) {
  FreeList list = Holed();
  uint64_t taken = 0;
  EXPECT_EQ(list.TakeFirst(12, &taken), 0u);
  EXPECT_EQ(taken, 10u);
  EXPECT_EQ(list.TakeFirst(2, &taken), 20u);
  EXPECT_EQ(taken, 2u);
}

}  // namespace
}  // namespace gmlake::emulator
