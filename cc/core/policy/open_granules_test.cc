#include "cc/core/policy/open_granules.h"

#include <algorithm>
#include <random>

#include "gtest/gtest.h"

namespace gmlake {
namespace {

constexpr Bytes kGranule = MiB(2);

Piece Suffix(BlockId block, Bytes size) { return {block, kGranule - size, kGranule}; }
Piece Prefix(BlockId block, Bytes size) { return {block, Bytes(0), size}; }

TEST(OpenGranules, BeginsAndEndsInRestsThatFit) {
  const OpenGranules open({Suffix(1, KiB(300)), Suffix(2, KiB(900))}, {Prefix(3, KiB(100)), Prefix(4, KiB(130))},
                          kGranule);
  const Ends ends = open.Choose(MiB(64) + KiB(1000));
  EXPECT_EQ(ends.head.block, 2);
  EXPECT_EQ(ends.tail.block, 3);
  EXPECT_EQ(ends.size(), KiB(1000));
}

TEST(OpenGranules, BeginsWithAllOfARestOrWithNone) {
  const OpenGranules open({Suffix(1, KiB(900))}, {Prefix(2, KiB(1010))}, kGranule);
  const Ends ends = open.Choose(MiB(64) + KiB(1000));
  EXPECT_EQ(ends.head.block, kNone);
  EXPECT_EQ(ends.tail.size(), KiB(1000));
}

TEST(OpenGranules, LeavesLittleInTheMiddleOfAGranule) {
  const Bytes request = MiB(64) + KiB(500);
  EXPECT_EQ(OpenGranules({}, {Prefix(1, KiB(628))}, kGranule).Choose(request).tail.block, 1);
  EXPECT_EQ(OpenGranules({}, {Prefix(1, KiB(629))}, kGranule).Choose(request).tail.block, kNone);
}

TEST(OpenGranules, FillsOneWhereItMustOpenAnother) {
  const OpenGranules open({Suffix(1, KiB(10)), Suffix(2, KiB(700)), Suffix(3, KiB(1900))}, {}, kGranule);
  const Ends ends = open.Choose(MiB(64) + KiB(500));
  EXPECT_EQ(ends.head.block, 2) << "the smallest with which it takes a whole granule less";
  EXPECT_EQ(ends.tail.block, kNone);
  EXPECT_EQ(open.Choose(MiB(64) + KiB(1950)).size(), Bytes(0)) << "none spares a granule";
}

TEST(OpenGranules, TakesNoBlockTwice) {
  const OpenGranules open({Suffix(1, KiB(500))}, {Prefix(1, KiB(500)), Prefix(2, KiB(520))}, kGranule);
  EXPECT_EQ(open.Choose(MiB(64) + KiB(1000)).tail.block, 2);
}

TEST(OpenGranules, NeedsNoEndsForWholeGranules) {
  EXPECT_EQ(OpenGranules({Suffix(1, MiB(1))}, {Prefix(2, MiB(1))}, kGranule).Choose(MiB(64)).size(), Bytes(0));
}

std::vector<Piece> SomeEnds(std::mt19937_64* random, bool are_suffixes) {
  std::vector<Piece> ends;
  for (BlockId block = 0; block < static_cast<BlockId>((*random)() % 40); ++block) {
    const Bytes size = KiB(1) * (1 + (*random)() % 2047);
    ends.push_back(are_suffixes ? Suffix(block, size) : Prefix(block, size));
  }
  std::sort(ends.begin(), ends.end(), [](const Piece& a, const Piece& b) { return a.size() < b.size(); });
  return ends;
}

TEST(OpenGranules, EndsSpareAGranuleWhateverIsOpen) {
  std::mt19937_64 random(7);
  for (int round = 0; round < 2000; ++round) {
    const OpenGranules open(SomeEnds(&random, true), SomeEnds(&random, false), kGranule);
    const Bytes request = KiB(1) * (1 + random() % 20000);
    const Ends ends = open.Choose(request);
    ASSERT_LE(ends.size(), request);
    if (ends.size() == Bytes(0)) continue;
    const Bytes between = request - ends.size();
    ASSERT_LT(AlignUp(between, kGranule), AlignUp(request, kGranule));
    if (ends.tail.block != kNone) {
      ASSERT_EQ(between % kGranule, Bytes(0));
    }
    ASSERT_NE(ends.head.block, ends.tail.block);
  }
}

}  // namespace
}  // namespace gmlake
