// Sleep: what the allocator counts, what can be read of a sleeping lease, and that one thread at a time has the copier.

#include <atomic>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "cc/core/allocator.h"
#include "cc/core/testing/testing_copier.h"
#include "cc/driver/fake_driver.h"
#include "gtest/gtest.h"

namespace gmlake {
namespace {

const StreamHandle kOwner{reinterpret_cast<void*>(1)};

class SleepBooksTest : public testing::Test {
 protected:
  Address Get(Bytes size) { return *allocator_.Allocate(size, kOwner); }
  // The number at the beginning of the lease.
  uint64_t ReadAsleep(Address address, Bytes size) {
    std::vector<char> bytes(static_cast<size_t>(size.count()), 'x');
    EXPECT_TRUE(allocator_.ReadAsleep(address, size, bytes.data()));
    uint64_t value = 0;
    std::memcpy(&value, bytes.data(), sizeof(value));
    return value;
  }

  FakeDriver driver_{GiB(4)};
  TestingCopier copier_{&driver_};
  Allocator allocator_{&driver_, {MiB(256), {}, {}, &copier_}};
};

TEST_F(SleepBooksTest, PeaksThatAreResetWhileItSleepsAreNotBelowWhatIsHeldAfterwards) {
  Get(MiB(32));
  ASSERT_TRUE(allocator_.Sleep({}).ok());
  allocator_.ResetPeaks();
  EXPECT_EQ(allocator_.Stats().peak_bytes_reserved, Bytes(0));
  ASSERT_TRUE(allocator_.Wake().ok());
  EXPECT_EQ(allocator_.Stats().peak_bytes_reserved, MiB(32));
}

// Its slab is saved whole, because of the other leases in it. Its own bytes are saved as zeros.
TEST_F(SleepBooksTest, ADroppedSmallLeaseReadsAsZerosBesideOthersOfItsSlab) {
  const Bytes size = TestingCopier::kPage;
  std::vector<Address> leases;
  for (int i = 0; i < 4; ++i) leases.push_back(Get(size));
  for (uint64_t i = 0; i < 4; ++i) copier_.Write(leases[i], size, 100 + i);
  for (int i : {1, 2}) ASSERT_TRUE(allocator_.Tag(leases[i], 7));
  SleepRequest request;
  request.dropped_tags = {7};
  ASSERT_TRUE(allocator_.Sleep(request).ok());
  EXPECT_EQ(ReadAsleep(leases[0], size), 100u);
  EXPECT_EQ(ReadAsleep(leases[1], size), 0u);
  EXPECT_EQ(ReadAsleep(leases[2], size), 0u);
  EXPECT_EQ(ReadAsleep(leases[3], size), 103u);
}

// CUDA documents that access to memory may fail to be set for a moment.
TEST_F(SleepBooksTest, WakingTriesAgainToOpenMemoryThatIsNotReady) {
  const Address address = Get(MiB(8));
  copier_.Write(address, MiB(8), 5);
  ASSERT_TRUE(allocator_.Sleep({}).ok());
  driver_.FailNamed("set access", 0, 1, StatusCode::kNotReady);
  EXPECT_TRUE(allocator_.Wake().ok());
  EXPECT_TRUE(copier_.Holds(address, MiB(8), 5));
}

// Notes whether two threads are inside at once. Its state is not atomic on purpose, so that a race detector sees more
// than this test.
class LonelyCopier final : public HostCopier {
 public:
  explicit LonelyCopier(TestingCopier* copier) : copier_(copier) {}
  bool was_shared() const { return was_shared_; }

  Status Open() override {
    const Visit visit(this);
    is_open_ = true;
    return copier_->Open();
  }
  StatusOr<char*> AllocateHost(Bytes size) override { return copier_->AllocateHost(size); }
  void FreeHost(char* memory, Bytes size) override {
    const Visit visit(this);
    copier_->FreeHost(memory, size);
  }
  Bytes AvailableHost() override { return copier_->AvailableHost(); }
  Status ToHost(char* to, Address from, Bytes size) override {
    const Visit visit(this);
    return copier_->ToHost(to, from, size);
  }
  Status ToDevice(Address to, const char* from, Bytes size) override {
    const Visit visit(this);
    return copier_->ToDevice(to, from, size);
  }
  Status Zero(Address to, Bytes size) override { return copier_->Zero(to, size); }
  Status Finish() override {
    const Visit visit(this);
    return copier_->Finish();
  }
  Status AwaitDevice() override {
    const Visit visit(this);
    is_open_ = true;
    return copier_->AwaitDevice();
  }

 private:
  struct Visit {
    explicit Visit(LonelyCopier* copier) : copier(copier) {
      if (copier->inside_.fetch_add(1) > 0) copier->was_shared_ = true;
      std::this_thread::yield();
    }
    ~Visit() { copier->inside_.fetch_sub(1); }
    LonelyCopier* copier;
  };

  TestingCopier* copier_;
  std::atomic<int> inside_{0};
  std::atomic<bool> was_shared_{false};
  bool is_open_ = false;
};

TEST(SleepThreads, OneThreadAtATimeHasTheCopier) {
  FakeDriver driver(GiB(4));
  TestingCopier inner(&driver);
  LonelyCopier copier(&inner);
  Allocator allocator(&driver, {MiB(256), {}, {}, &copier});
  ASSERT_TRUE(allocator.Allocate(MiB(8), kOwner).ok());
  std::atomic<bool> done{false};
  std::thread preparing([&] {
    while (!done) {
      allocator.PrepareSleep(MiB(8)).IgnoreError();
      allocator.ReleaseHostStore();
    }
  });
  std::thread sleeping([&] {
    while (!done) allocator.Sleep({}).status().IgnoreError();
  });
  int slept = 0;
  for (int i = 0; i < 20000 && slept < 200; ++i) {
    slept += allocator.IsAsleep() ? 1 : 0;
    allocator.Wake().status().IgnoreError();
    std::this_thread::yield();
  }
  done = true;
  preparing.join();
  sleeping.join();
  EXPECT_GT(slept, 0);
  EXPECT_FALSE(copier.was_shared());
  EXPECT_TRUE(allocator.Wake().ok());
  EXPECT_EQ(allocator.CheckInvariants(), "");
}

}  // namespace
}  // namespace gmlake
