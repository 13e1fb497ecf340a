#include "cc/core/ranges/size_index.h"

#include <random>
#include <vector>

#include "gtest/gtest.h"

namespace gmlake {
namespace {

int32_t NextInTurn(const std::vector<Bytes>& sizes, size_t from, Bytes least) {
  for (size_t number = from; number < sizes.size(); ++number) {
    if (sizes[number] >= least) return static_cast<int32_t>(number);
  }
  return kNone;
}

TEST(SizeIndex, FindsNothingWhereNothingIsSet) {
  SizeIndex index;
  EXPECT_EQ(index.Next(0, Bytes(1)), kNone);
  EXPECT_EQ(index.Next(1000, Bytes(1)), kNone);
  EXPECT_EQ(index[1000], Bytes(0));
}

// Numbers are set in any order, so that the tree grows under those that are there.
TEST(SizeIndex, AgreesWithALookAtEachInTurn) {
  std::mt19937_64 random(3);
  for (const size_t count : {1, 2, 15, 16, 17, 100, 1000}) {
    SizeIndex index;
    std::vector<Bytes> sizes(count);
    for (int step = 0; step < 3000; ++step) {
      const size_t number = random() % count;
      sizes[number] = Bytes(static_cast<int64_t>(random() % 3 == 0 ? 0 : random() % 50));
      index.Set(static_cast<int32_t>(number), sizes[number]);
      ASSERT_EQ(index[static_cast<int32_t>(number)], sizes[number]);
      const size_t from = random() % (count + 1);
      const Bytes least(static_cast<int64_t>(1 + random() % 60));
      ASSERT_EQ(index.Next(static_cast<int32_t>(from), least), NextInTurn(sizes, from, least));
    }
  }
}

}  // namespace
}  // namespace gmlake
