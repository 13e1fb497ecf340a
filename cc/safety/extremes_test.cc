// Every public method with the largest and smallest numbers that its arguments take: refused or harmless, and nothing
// is different afterwards. `make sanitize` runs it under UBSan, which sees an overflow that does no harm here.

#include <chrono>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "cc/core/allocator.h"
#include "cc/core/sleep/host_store.h"
#include "cc/driver/fake_driver.h"
#include "cc/safety/stamps.h"
#include "gtest/gtest.h"

namespace gmlake {
namespace {

const StreamHandle kOwner{reinterpret_cast<void*>(1)};
constexpr int64_t kExtremes[] = {INT64_MAX, INT64_MAX - 1, INT64_MAX / 2, int64_t{1} << 62, int64_t{1} << 47,
                                 -1,        INT64_MIN,     INT64_MIN + 1, INT64_MIN / 2};

class ExtremesTest : public testing::TestWithParam<int64_t> {
 protected:
  ExtremesTest() : lease_(*allocator_.Allocate(MiB(8), kOwner)) {}

  void TearDown() override {
    EXPECT_EQ(allocator_.Stats().bytes_limit, MiB(64));
    EXPECT_EQ(allocator_.Stats().bytes_in_use, MiB(8));
    EXPECT_EQ(allocator_.CheckInvariants(), "");
    EXPECT_TRUE(allocator_.Allocate(MiB(56), kOwner).ok());
    EXPECT_TRUE(driver_.violations().empty());
  }

  FakeDriver driver_{GiB(4)};
  Stamps copier_{&driver_};
  Allocator allocator_{&driver_, {MiB(64), {}, {}, &copier_}};
  const Address lease_;
  const Bytes size_{GetParam()};
};

TEST_P(ExtremesTest, OfARequest) {
  EXPECT_EQ(allocator_.Allocate(size_, kOwner).status().code(), StatusCode::kOutOfMemory);
  EXPECT_EQ(driver_.num_reservations(), 1);
}

TEST_P(ExtremesTest, OfAnAddress) {
  const Address address(static_cast<uint64_t>(GetParam()));
  EXPECT_FALSE(allocator_.Free(address, kOwner));
  EXPECT_FALSE(allocator_.Owns(address));
  EXPECT_FALSE(allocator_.RequestedSize(address).has_value());
  EXPECT_FALSE(allocator_.Tag(address, std::numeric_limits<int32_t>::min()));
  EXPECT_FALSE(allocator_.ReadAsleep(address, Bytes(8), nullptr));
}

TEST_P(ExtremesTest, OfALimit) {
  EXPECT_EQ(allocator_.SetLimit(size_).code(), StatusCode::kInvalidArgument);
  EXPECT_TRUE(allocator_.Allocate(MiB(2), kOwner).ok());
  ASSERT_TRUE(allocator_.Free(lease_ + MiB(8), kOwner));
}

TEST_P(ExtremesTest, OfALimitFromTheStart) {
  FakeDriver driver(GiB(1));
  Allocator allocator(&driver, {size_, {GetParam(), size_}});
  EXPECT_EQ(allocator.Allocate(MiB(100), kOwner).ok(), size_ > Bytes(0));
  EXPECT_FALSE(allocator.Allocate(GiB(2), kOwner).ok());
  allocator.Maintain();
  EXPECT_GE(allocator.Stats().largest_servable, Bytes(0));
  EXPECT_EQ(allocator.CheckInvariants(), "");
}

TEST_P(ExtremesTest, OfAPreallocation) {
  EXPECT_TRUE(allocator_.Preallocate(size_).ok());
  EXPECT_EQ(driver_.memory_in_use(), size_ < Bytes(0) ? MiB(8) : MiB(64));
}

TEST_P(ExtremesTest, OfATrim) { EXPECT_EQ(allocator_.Trim(size_), Bytes(0)) << "all that is held is leased"; }

TEST_P(ExtremesTest, OfHostMemory) {
  EXPECT_EQ(allocator_.PrepareSleep(size_).ok(), size_ < Bytes(0));
  HostStore store(&copier_);
  EXPECT_EQ(store.Prepare(size_).ok(), size_ < Bytes(0));
}

TEST_P(ExtremesTest, OfASleep) {
  SleepRequest request;
  request.dropped_tags = {std::numeric_limits<int32_t>::min(), std::numeric_limits<int32_t>::max()};
  request.patience = std::chrono::milliseconds(GetParam());
  ASSERT_TRUE(allocator_.Sleep(request).ok());
  char byte = 0;
  EXPECT_EQ(allocator_.ReadAsleep(lease_, size_, &byte), size_ < Bytes(0));
  EXPECT_TRUE(allocator_.Wake().ok());
}

TEST_P(ExtremesTest, OfPatience) {
  AllocatorOptions options{MiB(64)};
  const std::chrono::milliseconds time(GetParam());
  options.patience = {time, time};
  Allocator allocator(&driver_, options);
  EXPECT_FALSE(allocator.Allocate(MiB(65), kOwner).ok());
  EXPECT_TRUE(allocator.Allocate(MiB(64), kOwner).ok());
}

TEST_P(ExtremesTest, OfATrack) {
  TrackStats stats;
  EXPECT_FALSE(allocator_.ReadTrack(GetParam(), &stats, /*end=*/true));
}

// Too many are as many as there may be, which is more memory than a test should take.
TEST_P(ExtremesTest, OfARecording) {
  if (GetParam() > 0) return;
  allocator_.Record(GetParam());
  EXPECT_FALSE(allocator_.is_recording());
  allocator_.MarkMoment();
  allocator_.Record(0);
}

std::string NameOf(const testing::TestParamInfo<int64_t>& info) { return std::to_string(info.index); }

INSTANTIATE_TEST_SUITE_P(Numbers, ExtremesTest, testing::ValuesIn(kExtremes), NameOf);

}  // namespace
}  // namespace gmlake
