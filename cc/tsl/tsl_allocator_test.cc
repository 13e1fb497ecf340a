#include "cc/tsl/tsl_allocator.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "cc/driver/fake_driver.h"

namespace gmlake {
namespace {

const StreamHandle kStream{reinterpret_cast<void*>(1)};

class TslAllocatorTest : public testing::Test {
 protected:
  FakeDriver driver_{MiB(256)};
  gmlake::Allocator core_{&driver_, AllocatorOptions{MiB(64)}};
  TslAllocator ours_{&core_, "gmlake_0"};
  tsl::Allocator& allocator_ = ours_;  // as XLA holds it
};

Address ToAddress(const void* pointer) { return Address(reinterpret_cast<uint64_t>(pointer)); }

bool IsAligned(const void* pointer, size_t alignment) { return reinterpret_cast<uint64_t>(pointer) % alignment == 0; }

TEST_F(TslAllocatorTest, SaysWhatItIs) {
  EXPECT_EQ(allocator_.Name(), "gmlake_0");
  EXPECT_EQ(allocator_.GetMemoryType(), tsl::AllocatorMemoryType::kDevice);
  EXPECT_TRUE(allocator_.TracksAllocationSizes());
  EXPECT_FALSE(allocator_.AllocatesOpaqueHandle());
}

TEST_F(TslAllocatorTest, GivesAndTakesBack) {
  void* const pointer = allocator_.AllocateRaw(64, 1000);
  ASSERT_NE(pointer, nullptr);
  EXPECT_EQ(allocator_.RequestedSize(pointer), 1000);
  EXPECT_GE(allocator_.AllocatedSize(pointer), 1000);
  allocator_.DeallocateRaw(pointer);
  EXPECT_EQ(core_.Stats().num_live, 0);
}

TEST_F(TslAllocatorTest, AnswersWithNothingWhereThereIsNothing) {
  EXPECT_EQ(allocator_.AllocateRaw(64, 0), nullptr);
  EXPECT_EQ(allocator_.AllocateRaw(64, size_t{1} << 40), nullptr);
  EXPECT_EQ(ours_.AllocateOnStream(64, size_t{1} << 40, kStream).status().code(), StatusCode::kOutOfMemory);
  EXPECT_EQ(ours_.AllocateOnStream(64, 0, kStream).status().code(), StatusCode::kInvalidArgument);
}

// Another aligned allocation is alive meanwhile, so that the table of shifted ones is not empty.
TEST_F(TslAllocatorTest, AnAddressThatWasShiftedOnceIsAnOrdinaryOneAfterItsFree) {
  constexpr size_t kSize = size_t{4} << 20;
  void* const other = allocator_.AllocateRaw(4096, 5000);
  void* const shifted = allocator_.AllocateRaw(4096, kSize);
  allocator_.DeallocateRaw(shifted);
  void* const plain = allocator_.AllocateRaw(64, kSize + 1000);
  ASSERT_EQ(plain, shifted);
  EXPECT_EQ(allocator_.RequestedSize(plain), kSize + 1000);
  allocator_.DeallocateRaw(plain);
  allocator_.DeallocateRaw(other);
  EXPECT_EQ(core_.Stats().num_live, 0);
}

TEST_F(TslAllocatorTest, KeepsEveryAlignmentThatIsAskedFor) {
  for (size_t alignment = 1; alignment <= size_t{8} << 20; alignment *= 2) {
    void* const shift = allocator_.AllocateRaw(1, 300);
    void* const pointer = allocator_.AllocateRaw(alignment, 5000);
    ASSERT_NE(pointer, nullptr) << alignment;
    EXPECT_TRUE(IsAligned(pointer, alignment)) << alignment;
    EXPECT_EQ(allocator_.RequestedSize(pointer), 5000) << alignment;
    allocator_.DeallocateRaw(pointer);
    allocator_.DeallocateRaw(shift);
  }
  EXPECT_EQ(core_.Stats().num_live, 0);
  EXPECT_EQ(core_.CheckInvariants(), "");
}

TEST_F(TslAllocatorTest, AnAlignedPieceStaysInsideItsLease) {
  void* const pointer = allocator_.AllocateRaw(1 << 20, 3 << 20);
  void* const other = allocator_.AllocateRaw(1 << 20, 3 << 20);
  const int64_t distance = static_cast<char*>(other) - static_cast<char*>(pointer);
  EXPECT_GE(std::abs(distance), 3 << 20);
}

// Wherever the core's address lies between two aligned ones.
TEST_F(TslAllocatorTest, AnAlignedPieceEndsInsideItsLease) {
  for (int shifts = 0; shifts < 16; ++shifts) {
    allocator_.AllocateRaw(1, 256);
    const uint64_t begin = reinterpret_cast<uint64_t>(allocator_.AllocateRaw(4096, 5120));
    const std::vector<LeaseRow> leases = core_.TakeSnapshot().leases;
    const auto holds = [begin](const LeaseRow& lease) {
      return lease.address <= begin && begin + 5120 <= lease.address + static_cast<uint64_t>(lease.requested);
    };
    EXPECT_TRUE(std::any_of(leases.begin(), leases.end(), holds)) << shifts;
  }
}

TEST_F(TslAllocatorTest, AnAlignedPieceIsForgottenWhenItIsFreed) {
  void* const pointer = allocator_.AllocateRaw(1 << 20, 5000);
  allocator_.DeallocateRaw(pointer);
  EXPECT_EQ(allocator_.RequestedSize(pointer), 0);
  EXPECT_FALSE(ours_.FreeOnStream(pointer, kStream));
}

// The next owner, on the owner stream, waits for work on the stream that is named with the free.
TEST_F(TslAllocatorTest, AFreeIsOrderedOnItsStream) {
  ASSERT_TRUE(ours_.AllocateOnStream(256, 1 << 20, kStream).ok());
  const StreamHandle other{reinterpret_cast<void*>(2)};
  void* const pointer = *ours_.AllocateOnStream(256, 8 << 20, other);
  driver_.Launch(other, ToAddress(pointer), MiB(8), /*owner=*/1);
  ASSERT_TRUE(ours_.FreeOnStream(pointer, other));
  ASSERT_EQ(*ours_.AllocateOnStream(256, 8 << 20, kStream), pointer);
  driver_.Launch(kStream, ToAddress(pointer), MiB(8), /*owner=*/2);
  EXPECT_EQ(driver_.violations(), std::vector<std::string>());
}

TEST_F(TslAllocatorTest, AStreamThatEndedIsNotTouchedAgain) {
  ASSERT_TRUE(ours_.FreeOnStream(*ours_.AllocateOnStream(256, 8 << 20, kStream), kStream));
  ours_.RetireStream(kStream);
  driver_.DestroyStream(kStream);
  const StreamHandle other{reinterpret_cast<void*>(2)};
  EXPECT_TRUE(ours_.AllocateOnStream(256, 8 << 20, other).ok());
  EXPECT_EQ(driver_.violations(), std::vector<std::string>());
}

TEST_F(TslAllocatorTest, ASizeThatAnAlignmentWouldOverflowIsRefused) {
  for (size_t size : {size_t{INT64_MAX}, size_t{INT64_MAX} - 100, size_t{UINT64_MAX}}) {
    EXPECT_FALSE(ours_.AllocateOnStream(1 << 20, size, kStream).ok());
  }
}

TEST_F(TslAllocatorTest, LeavesAloneWhatIsNotItsOwn) {
  int foreign = 0;
  EXPECT_FALSE(ours_.FreeOnStream(&foreign, kStream));
  void* const pointer = *ours_.AllocateOnStream(256, 1 << 20, kStream);
  EXPECT_TRUE(ours_.FreeOnStream(pointer, kStream));
  EXPECT_FALSE(ours_.FreeOnStream(pointer, kStream)) << "freed twice";
}

TEST_F(TslAllocatorTest, TheStreamGivenOnceStandsForAllCalls) {
  allocator_.SetStreamAndPreallocateMemory(kStream.value);
  allocator_.DeallocateRaw(allocator_.AllocateRaw(256, 4 << 20));
  EXPECT_TRUE(ours_.AllocateOnStream(256, 4 << 20, kStream).ok());
  EXPECT_EQ(core_.Stats().num_stream_waits, 0);
}

TEST_F(TslAllocatorTest, ReportsEveryStatistic) {
  void* const large = allocator_.AllocateRaw(256, 8 << 20);
  allocator_.DeallocateRaw(allocator_.AllocateRaw(256, 4 << 20));
  const std::optional<tsl::AllocatorStats> stats = allocator_.GetStats();
  ASSERT_TRUE(stats.has_value());
  EXPECT_EQ(stats->num_allocs, 2);
  EXPECT_EQ(stats->bytes_in_use, 8 << 20);
  EXPECT_EQ(stats->peak_bytes_in_use, 12 << 20);
  EXPECT_EQ(stats->largest_alloc_size, 8 << 20);
  EXPECT_EQ(stats->bytes_limit, 64 << 20);
  EXPECT_EQ(stats->bytes_reservable_limit, 64 << 20);
  EXPECT_EQ(stats->bytes_reserved, 12 << 20);
  EXPECT_EQ(stats->peak_bytes_reserved, 12 << 20);
  EXPECT_EQ(stats->pool_bytes, 12 << 20);
  EXPECT_EQ(stats->peak_pool_bytes, 12 << 20);
  EXPECT_EQ(stats->largest_free_block_bytes, 4 << 20);
  allocator_.DeallocateRaw(large);
}

TEST_F(TslAllocatorTest, ClearingStartsThePeaksAnew) {
  allocator_.DeallocateRaw(allocator_.AllocateRaw(256, 8 << 20));
  EXPECT_TRUE(allocator_.ClearStats());
  EXPECT_EQ(allocator_.GetStats()->peak_bytes_in_use, 0);
}

}  // namespace
}  // namespace gmlake
