// Many threads at one allocator: requests, frees of each other's leases, statistics, snapshots, recordings, trims and
// limits, all at once.
//
// While a lease lives, its thread has claimed the physical bytes it reaches in a table of the test's own; a byte that
// is claimed twice had two owners. Meant to be run under ThreadSanitizer too (make sanitize).

#include <atomic>
#include <mutex>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "cc/safety/bench.h"
#include "gtest/gtest.h"

namespace gmlake {
namespace {

constexpr int kWorkers = 4;
constexpr int kRounds = 4000;
constexpr Bytes kLimit = MiB(128);

struct Held {
  Address address;
  Bytes size;
  StreamHandle stream;
};

// Who owns which pages of 256 bytes, sampled at the ends of each extent. Thread rule: any thread, one lock.
class Claims {
 public:
  explicit Claims(FakeDriver* driver) : driver_(driver) {}

  void Add(const Held& held) {
    for (const Page& page : PagesOf(held)) {
      std::lock_guard<std::mutex> lock(mutex_);
      if (!pages_.insert(page).second) ++conflicts_;
    }
  }

  void Remove(const Held& held) {
    for (const Page& page : PagesOf(held)) {
      std::lock_guard<std::mutex> lock(mutex_);
      pages_.erase(page);
    }
  }

  int64_t conflicts() const { return conflicts_; }

 private:
  using Page = std::pair<uint64_t, int64_t>;

  std::vector<Page> PagesOf(const Held& held) const {
    std::set<Page> pages;
    for (const FakeDriver::Extent& extent : driver_->Resolve(held.address, held.size)) {
      pages.insert({extent.block, extent.offset / Bytes(256)});
      pages.insert({extent.block, (extent.offset + extent.size - Bytes(1)) / Bytes(256)});
    }
    return {pages.begin(), pages.end()};
  }

  FakeDriver* driver_;
  std::mutex mutex_;
  std::set<Page> pages_;
  std::atomic<int64_t> conflicts_{0};
};

// A place where threads leave leases for each other to free.
class Exchange {
 public:
  // Leaves `held`; takes a random other, or nothing while there are few.
  std::vector<Held> Swap(const Held& held, uint64_t random) {
    std::lock_guard<std::mutex> lock(mutex_);
    waiting_.push_back(held);
    if (waiting_.size() < 24) return {};
    std::swap(waiting_[random % waiting_.size()], waiting_.back());
    return Pop();
  }

  std::vector<Held> TakeLast() {
    std::lock_guard<std::mutex> lock(mutex_);
    return Pop();
  }

 private:
  std::vector<Held> Pop() {
    if (waiting_.empty()) return {};
    const Held last = waiting_.back();
    waiting_.pop_back();
    return {last};
  }

  std::mutex mutex_;
  std::vector<Held> waiting_;
};

class ThreadsTest : public testing::Test {
 protected:
  void Work(int worker) {
    std::mt19937_64 random(worker);
    for (int round = 0; round < kRounds; ++round) {
      const Bytes size = random() % 2 == 0 ? Bytes(1 + random() % 300000) : MiB(1 + random() % 12);
      const Held held = {Address(), size, random() % 4 == 0 ? kOther : kOwner};
      for (const Held& other : Get(held, random())) Drop(other);
    }
  }

  std::vector<Held> Get(Held held, uint64_t random) {
    const StatusOr<Address> address = allocator_.Allocate(held.size, held.stream);
    if (!address.ok()) {
      ++refused_;
      return exchange_.TakeLast();
    }
    held.address = *address;
    claims_.Add(held);
    driver_.Launch(held.stream, held.address, held.size, ++owners_);
    return exchange_.Swap(held, random);
  }

  void Drop(const Held& held) {
    claims_.Remove(held);
    if (!allocator_.Free(held.address, held.stream)) ++lost_;
  }

  void Disturb() {
    for (int round = 0; !done_; ++round) {
      allocator_.Trim(MiB(round % 100));
      allocator_.SetLimit(kLimit - MiB(round % 64)).IgnoreError();
      allocator_.Maintain();
      allocator_.ResetPeaks();
      Record(round);
      if (round % 16 == 0) driver_.FinishAll();
      std::this_thread::yield();
    }
  }

  static bool AddsUp(const Snapshot& snapshot) {
    Bytes leased(0), held(0);
    for (const LeaseRow& lease : snapshot.leases) leased += Bytes(lease.size);
    for (const BlockRow& block : snapshot.blocks) held += Bytes(block.size);
    return leased == snapshot.stats.bytes_in_use + snapshot.stats.bytes_pending &&
           held == snapshot.stats.bytes_reserved;
  }

  // Starts, reads and ends recordings.
  void Record(int round) {
    if (round % 8 == 0) allocator_.Record(100);
    if (round % 8 == 5 && ReadRecording(&allocator_).events.size() > 100) ++inconsistent_;
    if (round % 8 == 7) allocator_.Record(0);
  }

  void Observe() {
    while (!done_) {
      const AllocatorStats stats = allocator_.Stats();
      if (stats.num_allocs - stats.num_frees != stats.num_live) ++inconsistent_;
      if (stats.bytes_in_use > stats.bytes_reserved || stats.bytes_reserved > kLimit) ++inconsistent_;
      if (!allocator_.CheckInvariants().empty()) ++inconsistent_;
      if (!AddsUp(allocator_.TakeSnapshot())) ++inconsistent_;
      std::this_thread::yield();
    }
  }

  FakeDriver driver_{GiB(4)};
  Allocator allocator_{&driver_, {kLimit}};
  Claims claims_{&driver_};
  Exchange exchange_;
  std::atomic<bool> done_{false};
  std::atomic<int64_t> owners_{0}, refused_{0}, lost_{0}, inconsistent_{0};
};

TEST_F(ThreadsTest, NoByteHasTwoOwnersAndTheNumbersAlwaysAddUp) {
  std::thread observer([this] { Observe(); });
  std::thread disturber([this] { Disturb(); });
  std::vector<std::thread> workers;
  for (int worker = 0; worker < kWorkers; ++worker) workers.emplace_back([this, worker] { Work(worker); });
  for (std::thread& worker : workers) worker.join();
  done_ = true;
  observer.join();
  disturber.join();
  for (std::vector<Held> left = exchange_.TakeLast(); !left.empty(); left = exchange_.TakeLast()) Drop(left[0]);
  EXPECT_EQ(claims_.conflicts(), 0);
  EXPECT_EQ(lost_, 0);
  EXPECT_EQ(inconsistent_, 0);
  EXPECT_LT(refused_, allocator_.Stats().num_allocs);
  EXPECT_EQ(allocator_.Stats().bytes_in_use, Bytes(0));
  EXPECT_EQ(allocator_.CheckInvariants(), "");
  EXPECT_EQ(driver_.violations(), std::vector<std::string>());
}

}  // namespace
}  // namespace gmlake
