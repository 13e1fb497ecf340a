#include "cc/emulator/memory/memory_pool.h"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

namespace gmlake::emulator {
namespace {

constexpr size_t kMiB = size_t{1} << 20;
constexpr size_t kChunk = 32 * kMiB;
constexpr size_t kDevice = 256 * kMiB;

class MemoryPoolTest : public testing::Test {
 protected:
  uint64_t Allocate(size_t size) {
    const std::optional<uint64_t> begin = pool_.Allocate(size);
    EXPECT_TRUE(begin.has_value());
    return begin.value_or(0);
  }

  AddressWindow window_;
  PhysicalMemory memory_{0, kDevice};
  MemoryPool pool_{0, &window_, &memory_, kChunk, 0};
};

TEST_F(MemoryPoolTest, GrowsInChunks) {
  const uint64_t small = Allocate(1);
  EXPECT_EQ(pool_.reserved(), kChunk);
  EXPECT_EQ(pool_.used(), 1u);
  Allocate(33 * kMiB);
  EXPECT_EQ(pool_.reserved(), 2 * kChunk);
  pool_.Free(small, 1);
  EXPECT_EQ(pool_.used(), 33 * kMiB);
}

TEST_F(MemoryPoolTest, WhatItHandsOutCanBeWritten) {
  const uint64_t begin = Allocate(70 * kMiB);
  std::memset(reinterpret_cast<void*>(begin), 7, 70 * kMiB);
}

TEST_F(MemoryPoolTest, PiecesDoNotOverlap) {
  const uint64_t one = Allocate(1000), other = Allocate(1000);
  EXPECT_GE(other > one ? other - one : one - other, 1000u);
}

TEST_F(MemoryPoolTest, MovesIdleChunksTogetherInsteadOfGrowing) {
  std::vector<uint64_t> pieces;
  for (int i = 0; i < 8; ++i) pieces.push_back(Allocate(kChunk));
  for (int i = 0; i < 8; i += 2) pool_.Free(pieces[i], kChunk);
  EXPECT_EQ(memory_.used(), kDevice);
  const uint64_t large = Allocate(4 * kChunk);
  EXPECT_EQ(pool_.reserved(), kDevice);
  std::memset(reinterpret_cast<void*>(large), 7, 4 * kChunk);
}

TEST_F(MemoryPoolTest, FragmentsBelowTheSizeOfAChunk) {
  std::vector<uint64_t> pieces;
  for (int i = 0; i < 16; ++i) pieces.push_back(Allocate(kChunk / 2));
  for (int i = 0; i < 16; i += 2) pool_.Free(pieces[i], kChunk / 2);
  EXPECT_EQ(pool_.used(), kDevice / 2);
  EXPECT_FALSE(pool_.Allocate(kChunk).has_value());
  EXPECT_TRUE(pool_.Allocate(kChunk / 2).has_value());
}

TEST_F(MemoryPoolTest, AFailedRequestChangesNothing) {
  const uint64_t begin = Allocate(kChunk);
  EXPECT_FALSE(pool_.Allocate(kDevice).has_value());
  EXPECT_EQ(memory_.used(), kChunk);
  pool_.Free(begin, kChunk);
  EXPECT_TRUE(pool_.Allocate(kDevice).has_value());
}

TEST_F(MemoryPoolTest, GivesBackWhatIsAboveTheThreshold) {
  const uint64_t begin = Allocate(4 * kChunk);
  pool_.Free(begin, 4 * kChunk);
  pool_.set_threshold(2 * kChunk);
  pool_.ReleaseDownToThreshold();
  EXPECT_EQ(memory_.used(), 2 * kChunk);
  pool_.ReleaseDownTo(0);
  EXPECT_EQ(memory_.used(), 0u);
}

TEST_F(MemoryPoolTest, KeepsChunksThatAreInUse) {
  const uint64_t first = Allocate(kChunk);
  Allocate(1);
  pool_.Free(first, kChunk);
  pool_.ReleaseDownTo(0);
  EXPECT_EQ(memory_.used(), kChunk);
}

TEST_F(MemoryPoolTest, ALimitedPoolStopsThere) {
  MemoryPool limited(0, &window_, &memory_, kChunk, 2 * kChunk);
  EXPECT_FALSE(limited.Allocate(4 * kChunk).has_value());
  EXPECT_TRUE(limited.Allocate(48 * kMiB).has_value());
  EXPECT_FALSE(limited.Allocate(32 * kMiB).has_value());
}

TEST_F(MemoryPoolTest, ADestroyedPoolGivesEverythingBack) {
  {
    MemoryPool other(0, &window_, &memory_, kChunk, 0);
    other.Allocate(kMiB);
    EXPECT_EQ(memory_.used(), kChunk);
  }
  EXPECT_EQ(memory_.used(), 0u);
}

}  // namespace
}  // namespace gmlake::emulator
