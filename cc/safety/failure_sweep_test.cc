// Fails the k-th driver call of a scenario, for every k: alone, together with the next, and with all that follow.
//
// A request that fails leaves what it found; one that meets a failure and still succeeds is right in every byte. Either
// way the rest of the limit can be had afterwards, and the end leaves nothing behind but what would not come off.

#include <functional>
#include <ostream>
#include <string>
#include <vector>

#include "cc/safety/bench.h"
#include "gtest/gtest.h"

namespace gmlake {
namespace {

constexpr Bytes kLimit = MiB(64);
constexpr int64_t kForever = 1000;

struct Scenario {
  const char* name;
  std::function<void(Bench*)> prepare;
  std::function<void(Bench*)> act;
  friend std::ostream& operator<<(std::ostream& out, const Scenario& scenario) { return out << scenario.name; }
};

void Nothing(Bench*) {}

std::function<void(Bench*)> Request(Bytes size, StreamHandle stream = kOwner) {
  return [=](Bench* bench) { bench->Get(size, stream).IgnoreError(); };
}

const Scenario kScenarios[] = {
    {"FirstGrowth", Nothing, Request(MiB(24))},
    {"FirstSmallRequest", Nothing, Request(Bytes(100))},
    {"GrowthBesideLeases", Request(MiB(8)), Request(MiB(24))},
    {"Stitch", [](Bench* bench) { bench->MakeHoles(MiB(8), 8); }, Request(MiB(32))},
    {"StitchWithADeficit", [](Bench* bench) { bench->MakeHoles(MiB(8), 6); }, Request(MiB(40))},
    {"RequestOnAnotherStream", [](Bench* bench) { bench->MakeHoles(MiB(8), 4); }, Request(MiB(24), kOther)},
    {"FreeOnAnotherStream",
     [](Bench* bench) {
       bench->MakeHoles(MiB(8), 4);
       bench->Get(MiB(4), kOther).IgnoreError();
     },
     [](Bench* bench) { bench->Drop(bench->shadow.leases().size() - 1, kOther); }},
    {"TrimOfStitchedMemory",
     [](Bench* bench) {
       bench->MakeHoles(MiB(8), 8);
       bench->Get(MiB(32)).IgnoreError();
       bench->Drop(bench->shadow.leases().size() - 1);
     },
     [](Bench* bench) { bench->allocator->Trim(Bytes(0)); }},
    {"LowerLimit", [](Bench* bench) { bench->MakeHoles(MiB(8), 8); },
     [](Bench* bench) { bench->allocator->SetLimit(MiB(40)).IgnoreError(); }},
    {"PendingFree",
     [](Bench* bench) {
       bench->Get(MiB(40)).IgnoreError();
       bench->driver.SetCapturing(kOther, true);
       bench->Drop(0, kOther);
       bench->driver.SetCapturing(kOther, false);
     },
     Request(MiB(40), kThird)},
};

// What the device holds, and what the allocator says of its leases.
struct State {
  int64_t blocks, mappings, events;
  Bytes device_bytes, in_use, requested, peak;

  explicit State(const Bench& bench)
      : blocks(bench.driver.num_blocks()),
        mappings(bench.driver.num_mappings()),
        events(bench.driver.num_events()),
        device_bytes(bench.driver.memory_in_use()),
        in_use(bench.allocator->Stats().bytes_in_use),
        requested(bench.allocator->Stats().bytes_requested),
        peak(bench.allocator->Stats().peak_bytes_in_use) {}
};

void ExpectEqual(const State& a, const State& b) {
  EXPECT_EQ(a.blocks, b.blocks);
  EXPECT_EQ(a.mappings, b.mappings);
  EXPECT_EQ(a.events, b.events);
  EXPECT_EQ(a.device_bytes, b.device_bytes);
  EXPECT_EQ(a.in_use, b.in_use);
  EXPECT_EQ(a.requested, b.requested);
  EXPECT_EQ(a.peak, b.peak);
}

class FailureSweep : public testing::TestWithParam<Scenario> {
 protected:
  // The scenario with the calls [first, first + count) of its act failing; false once `first` lies beyond the act.
  bool Sweep(int64_t first, int64_t count, StatusCode code) {
    SCOPED_TRACE(testing::Message() << count << " calls fail from " << first << " on: " << ToString(code));
    Bench bench(kLimit);
    GetParam().prepare(&bench);
    const State before(bench);
    const AllocatorStats stats = bench.allocator->Stats();
    bench.driver.FailCalls(first, count, code);
    GetParam().act(&bench);
    bench.driver.StopFailing();
    EXPECT_EQ(bench.shadow.Check(), "");
    const bool refused = bench.allocator->Stats().num_failures > stats.num_failures;
    if (refused && count == 1 && stats.bytes_pending == Bytes(0)) ExpectEqual(before, State(bench));
    const bool reached = bench.driver.num_failed() > 0;
    ExpectTheRestOfTheLimit(&bench);
    ExpectNothingLeft(&bench);
    return reached && !HasFailure();
  }

  void ExpectTheRestOfTheLimit(Bench* bench) {
    bench->DropAll();
    bench->allocator->Maintain();
    const AllocatorStats idle = bench->allocator->Stats();
    EXPECT_EQ(idle.bytes_in_use + idle.bytes_pending, Bytes(0));
    EXPECT_TRUE(bench->Get(idle.bytes_limit - idle.bytes_quarantined).ok());
    EXPECT_EQ(bench->shadow.Check(), "");
    bench->DropAll();
  }

  void ExpectNothingLeft(Bench* bench) {
    bench->allocator->Trim(Bytes(0));
    EXPECT_EQ(bench->shadow.Check(), "");
    const Bytes held = bench->allocator->Stats().bytes_reserved;
    bench->allocator.reset();
    EXPECT_LE(bench->driver.memory_in_use(), held);
    EXPECT_EQ(bench->driver.num_events(), 0);
    EXPECT_EQ(bench->driver.violations(), std::vector<std::string>());
    // Where no unmap failed, every mapping came off, though other calls did fail.
    EXPECT_TRUE(bench->driver.num_mappings() == 0 || bench->driver.num_failed_unmaps() > 0);
  }

  // Every k until the act is over; returns how many there were.
  int64_t SweepAll(int64_t count, StatusCode code) {
    int64_t k = 0;
    while (Sweep(k, count, code)) ++k;
    RecordProperty("calls", static_cast<int>(k));
    return k;
  }
};

TEST_P(FailureSweep, OneCallFails) {
  for (StatusCode code : {StatusCode::kDriverError, StatusCode::kOutOfMemory, StatusCode::kNotReady}) {
    EXPECT_GE(SweepAll(1, code), 2);
  }
}

TEST_P(FailureSweep, TwoCallsFail) { EXPECT_GE(SweepAll(2, StatusCode::kDriverError), 2); }

TEST_P(FailureSweep, EverythingFailsFromSomeCallOn) { EXPECT_GE(SweepAll(kForever, StatusCode::kDriverError), 2); }

INSTANTIATE_TEST_SUITE_P(Scenarios, FailureSweep, testing::ValuesIn(kScenarios),
                         [](const auto& info) { return std::string(info.param.name); });

// A device that another process fills between our look and our call.
TEST(ForeignMemory, MayTakeEverythingAtAnyMoment) {
  for (int64_t free = 0; free <= 32; free += 2) {
    Bench bench;
    bench.MakeHoles(MiB(4), 4);
    bench.driver.SetForeignMemory(GiB(4) - bench.driver.memory_in_use() - MiB(free));
    const State before(bench);
    if (!bench.Get(MiB(40)).ok()) ExpectEqual(before, State(bench));
    EXPECT_EQ(bench.shadow.Check(), "") << free;
    bench.driver.SetForeignMemory(Bytes(0));
    EXPECT_EQ(bench.Get(MiB(10)).code(), StatusCode::kOk);
  }
}

}  // namespace
}  // namespace gmlake
