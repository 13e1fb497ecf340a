// A world of four granules, in which every program of up to so many operations is run, each to a good end. What random
// programs may miss by bad luck cannot hide here. CI goes to depth 7; deeper with GMLAKE_SAFETY_DEPTH.

#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "cc/safety/program.h"
#include "gtest/gtest.h"

namespace gmlake {
namespace {

constexpr Bytes kLimit = MiB(8);

struct Letter {
  const char* name;
  Operation operation;
  size_t least_leases;  // fewer, and it would do nothing
};

// The numbers are those of Program's language.
constexpr Letter kGet2{"get 2 MiB", {0, 6, 0, 0}, 0};
constexpr Letter kGet4{"get 4 MiB", {0, 16 + 6, 0, 0}, 0};
constexpr Letter kGet6{"get 6 MiB", {0, 32 + 6, 0, 0}, 0};
constexpr Letter kGet4Other{"get 4 MiB on the other stream", {0, 16 + 6, 0, 7}, 0};
constexpr Letter kFreeFirst{"free the first lease", {24, 0, 0, 1}, 1};
constexpr Letter kFreeSecond{"free the second lease", {24, 1, 0, 1}, 2};
constexpr Letter kFreeOther{"free the first lease on the other stream", {24, 0, 0, 4}, 1};
constexpr Letter kFinish{"finish all work", {60, 0, 0, 0}, 0};
constexpr Letter kTrim{"trim", {55, 0, 0, 0}, 0};
constexpr Letter kCapture{"begin or end the capture of the owner stream", {57, 0, 0, 0}, 0};
constexpr Letter kSleepOrWake{"fall asleep or wake up", {53, 1, 1, 2}, 1};
constexpr Letter kFailThird{"fail the third driver call from now", {58, 2, 1, 0}, 0};

int Depth() {
  const char* depth = std::getenv("GMLAKE_SAFETY_DEPTH");
  return depth == nullptr ? 7 : std::atoi(depth);
}

// Walks all programs of one length in the order of an odometer. Model: `digits` is the present program; the steps
// before the first digit that changed were checked with an earlier program.
class Explorer {
 public:
  Explorer(std::vector<Letter> letters, int depth) : letters_(std::move(letters)), digits_(depth, 0) {}

  // The first problem with the program that has it, or nothing.
  std::string Run() {
    for (size_t changed = 0; changed < digits_.size();) {
      size_t useless = digits_.size();
      const std::string problem = RunOne(changed, &useless);
      if (!problem.empty()) return problem + " after: " + Print();
      changed = Advance(useless);
    }
    return "";
  }

  int64_t programs() const { return programs_; }

 private:
  // `useless` gets the place of a letter that would do nothing: no program with this beginning is worth running.
  std::string RunOne(size_t changed, size_t* useless) {
    Program program(kLimit);
    for (size_t i = 0; i < digits_.size(); ++i) {
      if (IsUseless(i, program.num_leases())) {
        *useless = i;
        return "";
      }
      program.Dispatch(letters_[digits_[i]].operation);
      const std::string problem = i < changed ? "" : program.Check();
      if (!problem.empty()) return problem;
    }
    ++programs_;
    return program.Finish();
  }

  // Nothing to free, or the same once more without effect.
  bool IsUseless(size_t place, size_t leases) const {
    const Letter& letter = letters_[digits_[place]];
    if (leases < letter.least_leases) return true;
    const bool repeatable = letter.least_leases > 0 || letter.operation.kind == 0;
    return !repeatable && place > 0 && digits_[place] == digits_[place - 1];
  }

  // The next program that differs at `last` or before; returns the first place that changed.
  size_t Advance(size_t last) {
    size_t place = std::min(last, digits_.size() - 1) + 1;
    std::fill(digits_.begin() + place, digits_.end(), 0);
    while (place > 0) {
      if (++digits_[--place] < letters_.size()) return place;
      digits_[place] = 0;
    }
    return digits_.size();
  }

  std::string Print() const {
    std::string text;
    for (size_t digit : digits_) text += std::string(letters_[digit].name) + "; ";
    return text;
  }

  const std::vector<Letter> letters_;
  std::vector<size_t> digits_;
  int64_t programs_ = 0;
};

void ExploreAll(const std::vector<Letter>& letters) {
  Explorer explorer(letters, Depth());
  EXPECT_EQ(explorer.Run(), "");
  std::printf("%lld programs of %d operations\n", static_cast<long long>(explorer.programs()), Depth());
  EXPECT_GT(explorer.programs(), 1000);
}

TEST(SmallWorld, TwoStreamsAndACapture) {
  ExploreAll({kGet2, kGet4Other, kFreeFirst, kFreeOther, kFinish, kTrim, kCapture});
}

TEST(SmallWorld, SleepAndFaults) { ExploreAll({kGet2, kGet6, kFreeFirst, kFreeSecond, kSleepOrWake, kFailThird}); }

TEST(SmallWorld, StitchesAndFaults) { ExploreAll({kGet2, kGet4, kGet6, kFreeFirst, kFreeSecond, kTrim, kFailThird}); }

}  // namespace
}  // namespace gmlake
