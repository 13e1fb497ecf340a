// Random programs from kept seeds. CI runs 40,000 operations of each of five seeds; more on request:
//
//   GMLAKE_SAFETY_OPERATIONS=2000000 GMLAKE_SAFETY_SEEDS=1,2,3,4,5 bazel/run test //cc/safety:random_programs_test
//
// A failure prints the seed and the shortest program that still fails, ready for regressions_test.cc.

#include <algorithm>
#include <cstdlib>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "cc/safety/program.h"
#include "gtest/gtest.h"

namespace gmlake {
namespace {

constexpr int kProgramLength = 1000;
constexpr int kLimits[] = {24, 64, 128, 250};  // MiB

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

// One program from start to end; what went wrong, or nothing.
std::string Execute(const std::vector<Operation>& operations, Bytes limit, bool abandon) {
  Program program(limit);
  for (const Operation& operation : operations) {
    std::string problem = program.Step(operation);
    if (!problem.empty()) return problem;
  }
  return abandon ? program.Abandon() : program.Finish();
}

// Leaves out ever smaller parts as long as the program still fails in the same way.
std::vector<Operation> Shorten(std::vector<Operation> operations, Bytes limit, bool abandon) {
  const std::string problem = Execute(operations, limit, abandon);
  for (size_t part = operations.size() / 2; part > 0; part /= 2) {
    for (size_t at = 0; at + part <= operations.size();) {
      std::vector<Operation> shorter = operations;
      shorter.erase(shorter.begin() + at, shorter.begin() + at + part);
      if (Execute(shorter, limit, abandon) != problem) {
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

TEST(RandomPrograms, KeepEveryInvariant) {
  for (uint64_t seed : Seeds()) {
    std::mt19937_64 random(seed);
    for (int64_t number = 0; number * kProgramLength < OperationsPerSeed(); ++number) {
      const Bytes limit = MiB(kLimits[random() % std::size(kLimits)]);
      const bool abandon = number % 4 == 3;
      const std::vector<Operation> operations = RandomProgram(&random);
      const std::string problem = Execute(operations, limit, abandon);
      if (problem.empty()) continue;
      const std::vector<Operation> shortest = Shorten(operations, limit, abandon);
      FAIL() << "seed " << seed << ", program " << number << ": " << problem << "\nlimit " << ToString(limit)
             << (abandon ? ", abandoned" : "") << ", shortened:\n"
             << Print(shortest);
    }
    std::printf("seed %llu: %lld operations, no invariant broken\n", static_cast<unsigned long long>(seed),
                static_cast<long long>(OperationsPerSeed()));
  }
}

}  // namespace
}  // namespace gmlake
