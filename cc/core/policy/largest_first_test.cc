#include "cc/core/policy/largest_first.h"

#include <algorithm>
#include <random>
#include <vector>

#include "gtest/gtest.h"

namespace gmlake {
namespace {

constexpr Bytes kAny = GiB(1024);

TEST(LargestFirst, GivesTheLargestAndTheLowestAddress) {
  LargestFirst free({{0, MiB(4), Address(0x2000000)}, {1, MiB(8), Address(0x3000000)}, {2, MiB(4), Address(0x1000000)}},
                    kAny);
  for (const BlockId expected : {1, 2, 0}) EXPECT_EQ(free.Next(kAny)->block, expected);
  EXPECT_EQ(free.Next(kAny), nullptr);
  EXPECT_EQ(free.smallest_skipped().block, kNone);
}

// Of equal ones the last by address, as if they had been passed in their order.
TEST(LargestFirst, KnowsTheSmallestOfThoseThatWereTooLarge) {
  LargestFirst free({{0, MiB(4), Address(0x2000000)}, {1, MiB(8), Address(0x3000000)}, {2, MiB(4), Address(0x1000000)}},
                    MiB(2));
  EXPECT_EQ(free.Next(MiB(2)), nullptr);
  EXPECT_EQ(free.smallest_skipped().block, 0);
}

// Blocks of a few sizes in no order; every other address is home to none.
std::vector<FreeBlock> AnyBlocks(std::mt19937_64* random) {
  std::vector<FreeBlock> blocks;
  const size_t count = (*random)() % 400;
  for (size_t i = 0; i < count; ++i) {
    blocks.push_back({static_cast<BlockId>(i), MiB(2) * (1 + (*random)() % 12), Address((2 * i + 1) << 30)});
  }
  std::shuffle(blocks.begin(), blocks.end(), *random);
  return blocks;
}

// Passes over all of them, in their order.
TEST(LargestFirst, AgreesWithASort) {
  std::mt19937_64 random(7);
  for (int round = 0; round < 300; ++round) {
    std::vector<FreeBlock> sorted = AnyBlocks(&random);
    Bytes need = MiB(2) * (random() % 200);
    LargestFirst free(sorted, need);
    std::sort(sorted.begin(), sorted.end(), [](const FreeBlock& a, const FreeBlock& b) {
      return a.size != b.size ? b.size < a.size : a.home < b.home;
    });
    BlockId skipped = kNone;
    for (const FreeBlock& block : sorted) {
      if (block.size > need) {
        skipped = block.block;
        continue;
      }
      const FreeBlock* next = free.Next(need);
      ASSERT_NE(next, nullptr);
      ASSERT_EQ(next->block, block.block);
      if (random() % 2 == 0) need -= block.size;
    }
    ASSERT_EQ(free.Next(need), nullptr);
    ASSERT_EQ(free.smallest_skipped().block, skipped);
  }
}

}  // namespace
}  // namespace gmlake
