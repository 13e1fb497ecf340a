// Random programs from kept seeds. CI runs 40,000 operations of each of five seeds; more on request:
//
//   GMLAKE_SAFETY_OPERATIONS=2000000 GMLAKE_SAFETY_SEEDS=1,2,3,4,5 bazel/run test //cc/safety:random_programs_test
//
// A failure prints the seed and the shortest program that still fails, ready for regressions_test.cc.

#include <cstdio>
#include <cstdlib>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "cc/safety/fuzz_target.h"
#include "gtest/gtest.h"

namespace gmlake {
namespace {

constexpr int kProgramLength = 1000;

std::string Setting(const char* name, const char* otherwise) {
  const char* value = std::getenv(name);
  return value == nullptr ? otherwise : value;
}

int64_t OperationsPerSeed() { return std::stoll(Setting("GMLAKE_SAFETY_OPERATIONS", "40000")); }

std::vector<uint64_t> Seeds() {
  std::vector<uint64_t> seeds;
  std::istringstream list(Setting("GMLAKE_SAFETY_SEEDS", "1,2,3,4,5"));
  for (std::string seed; std::getline(list, seed, ',');) seeds.push_back(std::stoull(seed));
  return seeds;
}

// Leaves out ever smaller parts as long as the program still fails in the same way.
std::vector<Operation> Shorten(std::vector<Operation> operations, const World& world) {
  const std::string problem = Execute(operations, world).problem;
  for (size_t part = operations.size() / 2; part > 0; part /= 2) {
    for (size_t at = 0; at + part <= operations.size();) {
      std::vector<Operation> shorter = operations;
      shorter.erase(shorter.begin() + at, shorter.begin() + at + part);
      if (Execute(shorter, world).problem != problem) {
        at += part;
      } else {
        operations = std::move(shorter);
      }
    }
  }
  return operations;
}

std::string Print(const std::vector<Operation>& operations) {
  std::ostringstream out;
  for (const Operation& o : operations) out << "{" << +o.kind << ", " << +o.a << ", " << +o.b << ", " << +o.c << "}, ";
  return out.str();
}

std::vector<Operation> RandomProgram(std::mt19937_64* random) {
  std::vector<Operation> operations(kProgramLength);
  for (Operation& operation : operations) {
    const uint64_t word = (*random)();
    operation = {static_cast<uint8_t>(word), static_cast<uint8_t>(word >> 8), static_cast<uint8_t>(word >> 16),
                 static_cast<uint8_t>(word >> 24)};
  }
  return operations;
}

// How often the programs of a seed reached each thing worth reaching.
struct Reach {
  int64_t ways[kNumWays] = {};
  int64_t refusals = 0;
  int64_t stream_waits = 0;
  int64_t quarantined = 0;
  int64_t released = 0;
  int64_t wakes = 0;

  void Add(const Reach& other) {
    for (int way = 0; way < kNumWays; ++way) ways[way] += other.ways[way];
    refusals += other.refusals;
    stream_waits += other.stream_waits;
    quarantined += other.quarantined;
    released += other.released;
    wakes += other.wakes;
  }

  void Add(const Outcome& outcome) {
    const AllocatorStats& stats = outcome.stats;
    for (int way = 0; way < kNumWays; ++way) ways[way] += stats.by_way[way].count;
    refusals += stats.num_failures;
    stream_waits += stats.num_stream_waits;
    quarantined += stats.num_quarantined_blocks;
    released += stats.driver_calls.release;
    wakes += outcome.wakes;
  }
};

void Print(uint64_t seed, const Reach& reach) {
  std::printf(
      "seed %llu: %lld operations; small %lld, reuse %lld, split %lld, stitch %lld, grow %lld, refused %lld, "
      "stream waits %lld, blocks released %lld, quarantined %lld, wakes %lld\n",
      static_cast<unsigned long long>(seed), static_cast<long long>(OperationsPerSeed()),
      static_cast<long long>(reach.ways[0]), static_cast<long long>(reach.ways[1]),
      static_cast<long long>(reach.ways[2]), static_cast<long long>(reach.ways[3]),
      static_cast<long long>(reach.ways[4]), static_cast<long long>(reach.refusals),
      static_cast<long long>(reach.stream_waits), static_cast<long long>(reach.released),
      static_cast<long long>(reach.quarantined), static_cast<long long>(reach.wakes));
}

void ExpectEverythingWasReached(const Reach& reach) {
  for (int64_t way : reach.ways) EXPECT_GT(way, 0);
  for (int64_t count : {reach.refusals, reach.stream_waits, reach.released, reach.quarantined, reach.wakes}) {
    EXPECT_GT(count, 0);
  }
}

void RunSeed(uint64_t seed, Reach* total) {
  std::mt19937_64 random(seed);
  Reach reach;
  for (int64_t number = 0; number * kProgramLength < OperationsPerSeed(); ++number) {
    const World world = WorldOf(static_cast<uint8_t>(random()));
    const std::vector<Operation> operations = RandomProgram(&random);
    const Outcome outcome = Execute(operations, world);
    reach.Add(outcome);
    if (outcome.problem.empty()) continue;
    FAIL() << "seed " << seed << ", program " << number << ": " << outcome.problem << "\nlimit "
           << ToString(world.limit) << (world.abandon ? ", abandoned" : "") << (world.crowded ? ", crowded" : "")
           << ", shortened:\n"
           << Print(Shorten(operations, world));
  }
  Print(seed, reach);
  total->Add(reach);
}

TEST(RandomPrograms, KeepEveryInvariant) {
  Reach total;
  for (uint64_t seed : Seeds()) {
    RunSeed(seed, &total);
    if (HasFailure()) return;
  }
  ExpectEverythingWasReached(total);
}

}  // namespace
}  // namespace gmlake
