// Addresses are few: however sizes vary, one device stays within a part of what a process has. And where another
// library has taken most of them, idle ranges give theirs up.
//
//   GMLAKE_ADDRESS_REQUESTS=1000000 bazel/run test //cc/bench:addresses_test --test_timeout=3600
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "cc/bench/late_driver.h"
#include "cc/bench/script.h"
#include "cc/core/allocator.h"
#include "cc/driver/fake_driver.h"
#include "cc/driver/model_driver.h"
#include "gtest/gtest.h"

namespace gmlake::bench {
namespace {

constexpr Bytes kTiB = GiB(1 << 10);
const StreamHandle kStream{reinterpret_cast<void*>(1)};

int64_t NumRequests() {
  const char* number = std::getenv("GMLAKE_ADDRESS_REQUESTS");
  return number == nullptr ? 10000 : std::stoll(number);
}

// Leases of random sizes, random ones freed when there is no room below 98 % of the limit.
class RandomSizes {
 public:
  RandomSizes(Allocator* allocator, Bytes limit, Bytes least, Bytes most)
      : allocator_(allocator), limit_(limit), least_(least), most_(most) {}

  void Step() {
    const Bytes size = dice_.Size(least_, most_);
    while (live_ + size > limit_ * 98 / 100) Free(dice_.Draw(&leases_));
    const StatusOr<Address> address = allocator_->Allocate(size, kStream);
    if (!address.ok()) return Refuse(address.status());
    leases_.push_back({*address, size});
    live_ += size;
  }
  int64_t refused() const { return refused_; }

 private:
  void Free(const std::pair<Address, Bytes>& lease) {
    allocator_->Free(lease.first, kStream);
    live_ -= lease.second;
  }
  void Refuse(const Status& status) {
    if (refused_++ == 0) std::printf("first refused: %s\n", status.message().c_str());
  }

  Allocator* const allocator_;
  const Bytes limit_, least_, most_;
  Dice dice_{7};
  std::vector<std::pair<Address, Bytes>> leases_;
  Bytes live_;
  int64_t refused_ = 0;
};

TEST(Addresses, OfOneDeviceStayBelow16TiBWhateverTheSizes) {
  ModelDriver driver(GiB(132));
  Allocator allocator(&driver, {GiB(128)});
  RandomSizes sizes(&allocator, GiB(128), GiB(1), GiB(24));
  Bytes most;
  for (int64_t i = 0; i < NumRequests(); ++i) {
    sizes.Step();
    if (i % 16 == 0) most = std::max(most, allocator.Stats().bytes_addresses);
  }
  std::printf("%lld requests: at most %s of addresses\n", static_cast<long long>(NumRequests()),
              ToString(most).c_str());
  EXPECT_EQ(sizes.refused(), 0);
  EXPECT_LT(most, 16 * kTiB);
  EXPECT_LT(allocator.Stats().num_reservations, 100);
  EXPECT_EQ(allocator.CheckInvariants(), "");
}

// Ranges can be unmapped only once the device is done with them: a request waits for that before it takes more
// addresses than the budget.
TEST(Addresses, StayWithinTheBudgetOnADeviceThatIsLate) {
  for (const int64_t lag : {0, 100, 5000, 1 << 30}) {
    LateDriver driver(GiB(132), lag);
    Allocator allocator(&driver, {GiB(128)});
    RandomSizes sizes(&allocator, GiB(128), GiB(1), GiB(24));
    Bytes most;
    for (int i = 0; i < 4000; ++i) {
      sizes.Step();
      driver.Tick();
      most = std::max(most, allocator.Stats().bytes_addresses);
    }
    EXPECT_EQ(sizes.refused(), 0) << lag;
    EXPECT_LE(most, RangeSize().budget + GiB(24)) << lag;
    EXPECT_LT(allocator.Stats().num_reservations, 100) << lag;
    EXPECT_LT(driver.num_waits(), 1000) << lag;
    EXPECT_EQ(allocator.CheckInvariants(), "") << lag;
  }
}

// Free gaps of `gap` between leases of `between`, so that what is larger than a gap has to be stitched.
std::vector<Address> MakeGaps(Allocator* allocator, int count, Bytes gap, Bytes between) {
  std::vector<Address> gaps;
  for (int i = 0; i < count; ++i) {
    EXPECT_TRUE(allocator->Allocate(between, kStream).ok());
    gaps.push_back(*allocator->Allocate(gap, kStream));
  }
  return gaps;
}

void FreeAll(Allocator* allocator, const std::vector<Address>& leases) {
  for (const Address& lease : leases) allocator->Free(lease, kStream);
}

// Leases in every gap that is left.
std::vector<Address> FillGaps(Allocator* allocator, Bytes gap, Bytes free) {
  std::vector<Address> filled;
  for (; gap <= free; free -= gap) filled.push_back(*allocator->Allocate(gap, kStream));
  return filled;
}

// Each round a range of nearly all that is free is made, a small lease taken at its front, and the rest trimmed away.
TEST(Addresses, OfARangeThatWasTrimmedToASmallLeaseGoBack) {
  constexpr Bytes kGap = MiB(64);
  ModelDriver driver(GiB(132));
  Allocator allocator(&driver, {GiB(128)});
  FreeAll(&allocator, MakeGaps(&allocator, 1000, kGap, kGap));
  Bytes free = kGap * 1000;
  for (int round = 0; round < 60; ++round) {
    const StatusOr<Address> large = allocator.Allocate(free - MiB(512), kStream);
    ASSERT_TRUE(large.ok()) << round << ": " << large.status().message();
    allocator.Free(*large, kStream);
    ASSERT_TRUE(allocator.Allocate(kGap + MiB(6), kStream).ok());
    free -= kGap * 2;
    allocator.Trim(Bytes(0));
    FreeAll(&allocator, FillGaps(&allocator, kGap, free));
  }
  EXPECT_LE(allocator.Stats().bytes_addresses, 2 * kTiB);
  EXPECT_EQ(allocator.CheckInvariants(), "");
}

// 16 GiB with 68 GiB of addresses for homes, and 12 GiB for everything else.
class FewAddressesTest : public testing::Test {
 protected:
  FewAddressesTest() : driver_(GiB(17), /*lag=*/0), allocator_(&driver_, {GiB(16)}) {
    driver_.SetAddresses(GiB(80));
    FreeAll(&allocator_, MakeGaps(&allocator_, 127, MiB(96), MiB(32)));
  }

  LateDriver driver_;
  Allocator allocator_;
};

// A reservation for one of them has no room for the next, and has to go first.
TEST_F(FewAddressesTest, ServeOneLargeRequestAfterAnother) {
  for (const Bytes size : {GiB(1), GiB(2), GiB(4), GiB(9), GiB(10), GiB(11)}) {
    const StatusOr<Address> lease = allocator_.Allocate(size, kStream);
    ASSERT_TRUE(lease.ok()) << ToString(size) << ": " << lease.status().message();
    allocator_.Free(*lease, kStream);
    EXPECT_EQ(allocator_.CheckInvariants(), "");
  }
}

// The first lease stays, so its range cannot be unmapped.
TEST_F(FewAddressesTest, ServeTheNextRequestWithTheRoomOfARangeInUse) {
  ASSERT_TRUE(allocator_.Allocate(GiB(1), kStream).ok());
  const StatusOr<Address> next = allocator_.Allocate(GiB(5), kStream);
  EXPECT_TRUE(next.ok()) << next.status().message();
  EXPECT_EQ(allocator_.CheckInvariants(), "");
}

TEST_F(FewAddressesTest, ARefusalSaysThatAddressesAreShort) {
  ASSERT_TRUE(allocator_.Allocate(GiB(8), kStream).ok());
  driver_.SetAddresses(Bytes(0));
  const StatusOr<Address> refused = allocator_.Allocate(GiB(3), kStream);
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.status().message().find("addresses"), std::string::npos) << refused.status().message();
}

// The budget is not reached, but the driver has no more: as if other devices of the process had taken them.
TEST(Addresses, ThatTheDriverHasNoMoreOfAreTakenFromIdleRanges) {
  const Bytes limit = GiB(2);
  FakeDriver driver(limit + MiB(512));
  driver.SetAddresses(GiB(24));
  Allocator allocator(&driver, {limit});
  RandomSizes sizes(&allocator, limit, MiB(16), MiB(400));
  for (int i = 0; i < 2000; ++i) sizes.Step();
  EXPECT_EQ(sizes.refused(), 0);
  EXPECT_GT(allocator.Stats().num_reclaimed_ranges, 0);
  EXPECT_TRUE(driver.violations().empty());
  EXPECT_EQ(allocator.CheckInvariants(), "");
}

}  // namespace
}  // namespace gmlake::bench
