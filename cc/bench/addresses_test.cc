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
