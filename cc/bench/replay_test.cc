#include "cc/bench/replay.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>

#include "cc/bench/churn.h"
#include "cc/bench/replay_json.h"

namespace gmlake::bench {
namespace {

using ::testing::HasSubstr;

// Two of four blocks are freed, then both holes are asked for in one piece.
Trace Holes() {
  const int64_t gib = int64_t{1} << 30;
  return *MakeTrace("holes", {{0, 0, gib, 0, 0},
                              {0, 1, gib, 0, 0},
                              {0, 2, gib, 0, 0},
                              {0, 3, gib, 0, 0},
                              {1, 0, gib, 0, 0},
                              {1, 2, gib, 0, 0},
                              {0, 4, 2 * gib, 0, 0}});
}

ReplayOptions Options(const std::string& policy) {
  ReplayOptions options;
  options.policy = policy;
  options.repeats = 0;
  return options;
}

TEST(ReplayTest, FindsTheSmallestLimitOfEachModel) {
  ReplayOptions options = Options("bfc");
  options.find_min_limit = true;
  const auto bfc = Replay(Holes(), options);
  ASSERT_TRUE(bfc.ok()) << bfc.status().message();
  EXPECT_NEAR(bfc->min_limit->count(), GiB(6).count(), 0.001 * GiB(6).count());
  options.policy = "gmlake-uniform-2mib";
  const auto uniform = Replay(Holes(), options);
  ASSERT_TRUE(uniform.ok()) << uniform.status().message();
  EXPECT_EQ(*uniform->min_limit, GiB(4));
}

TEST(ReplayTest, CountsWhatALimitRefuses) {
  ReplayOptions options = Options("bfc");
  options.limit = GiB(4);
  const auto result = Replay(Holes(), options);
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(result->failures, 1);
  EXPECT_EQ(result->peak_reserved, GiB(4));
}

TEST(ReplayTest, ChargesEachPassByItself) {
  ReplayOptions options = Options("gmlake-uniform-2mib");
  options.passes = 3;
  const auto result = Replay(Holes(), options);
  ASSERT_TRUE(result.ok());
  ASSERT_EQ(result->passes.size(), 3u);
  EXPECT_EQ(result->passes[0].create, 4 * 512);
  EXPECT_EQ(result->passes[2].create, 0);
  double sum = 0;
  for (const auto& pass : result->passes) sum += pass.time_us;
  EXPECT_NEAR(sum, result->total.time_us, 1e-3);
}

class Nonsense final : public Policy {
 public:
  explicit Nonsense(Driver* driver) : driver_(driver) {}
  Address Allocate(Bytes, StreamHandle) override {
    driver_->Unmap(Address(4096), MiB(2)).IgnoreError();
    return Address(4096);
  }
  void Free(Address, StreamHandle) override {}

 private:
  Driver* const driver_;
};

TEST(ReplayTest, RefusesAPolicyThatNoDeviceWouldAllow) {
  ReplayOptions options = Options("nonsense");
  options.make_policy = [](Driver* driver, std::optional<Bytes>) { return std::make_unique<Nonsense>(driver); };
  EXPECT_THAT(Replay(Holes(), options).status().message(), HasSubstr("refused by the driver 5 times, first: unmap"));
  options.verify = true;
  EXPECT_THAT(Replay(Holes(), options).status().message(), HasSubstr("event 0: leased memory is not accessible"));
}

// Takes 20 microseconds an event, and besides lets the model of the driver walk over many mappings.
class Slow final : public Policy {
 public:
  explicit Slow(Driver* driver) : driver_(driver), range_(*driver->Reserve(MiB(2) * kMappings)) {
    for (int i = 0; i < kMappings; ++i) {
      driver->Map(range_ + MiB(2) * i, MiB(2), *driver->Create(MiB(2))).IgnoreError();
    }
  }
  Address Allocate(Bytes, StreamHandle) override {
    for (int i = 0; i < 20; ++i) driver_->SetAccess(range_, MiB(2) * kMappings).IgnoreError();
    Spin();
    return range_;
  }
  void Free(Address, StreamHandle) override { Spin(); }

  static constexpr std::chrono::nanoseconds kTime = std::chrono::microseconds(20);

 private:
  static constexpr int kMappings = 4000;

  void Spin() {
    const auto end = std::chrono::steady_clock::now() + kTime;
    while (std::chrono::steady_clock::now() < end) {
    }
  }

  Driver* const driver_;
  const Address range_;
};

TEST(ReplayTest, TimesThePolicyAndNotTheModelOfTheDriver) {
  ReplayOptions options = Options("slow");
  options.make_policy = [](Driver* driver, std::optional<Bytes>) { return std::make_unique<Slow>(driver); };
  options.repeats = 15;  // one of them is undisturbed, however busy the machine is
  const auto result = Replay(Holes(), options);
  ASSERT_TRUE(result.ok()) << result.status().message();
  EXPECT_GE(*result->ns_per_op, 0.95 * Slow::kTime.count());
  EXPECT_LT(*result->ns_per_op, 5.0 * Slow::kTime.count());
}

TEST(ReplayTest, ReportsProgressUpToTheEnd) {
  ReplayOptions options = Options("bfc");
  std::vector<double> shares;
  options.progress = [&](double share) { shares.push_back(share); };
  ASSERT_TRUE(Replay(Holes(), options).ok());
  EXPECT_TRUE(std::is_sorted(shares.begin(), shares.end()));
  EXPECT_EQ(shares.back(), 1);
}

TEST(ReplayTest, KnowsItsPolicies) {
  EXPECT_THAT(Replay(Holes(), Options("nobody")).status().message(), HasSubstr("no policy is called nobody"));
}

TEST(ReplayJsonTest, HasTheFieldsOfTheContract) {
  ReplayOptions options = Options("bfc");
  options.passes = 2;
  const std::string json = ToJson(*Replay(Holes(), options));
  for (const char* field :
       {"\"trace\": \"holes\"", "\"policy\": \"bfc\"", "\"events\": 7", "\"peak_live_bytes\": 4294967296",
        "\"peak_reserved_bytes\": ", "\"min_limit_bytes\": null", "\"failures\": 0", "\"ns_per_op\": null",
        "\"driver_calls\": {\"create\": ", "\"map\": ", "\"set_access\": ", "\"unmap\": ", "\"release\": ",
        "\"reserve\": ", "\"driver_time_us\": ", "\"first_pass_driver_time_us\": ", "\"last_pass_driver_time_us\": "}) {
    EXPECT_THAT(json, HasSubstr(field));
  }
}

TEST(ChurnTest, KeepsTheDeviceAsFullAsAskedAndNoFuller) {
  ChurnOptions options;
  const auto trace = MakeTrace("churn", MakeChurn(options));
  ASSERT_TRUE(trace.ok()) << trace.status().message();
  EXPECT_LE(trace->peak_live.count(), 0.95 * GiB(48).count());
  EXPECT_GT(trace->peak_live.count(), 0.93 * GiB(48).count());
  EXPECT_GT(trace->largest, GiB(3));
}

TEST(ChurnTest, IsTheSameForTheSameSeed) {
  ChurnOptions one, two;
  two.seed = one.seed + 1;
  EXPECT_EQ(MakeChurn(one).back().size, MakeChurn(one).back().size);
  EXPECT_NE(MakeChurn(one)[0].size, MakeChurn(two)[0].size);
}

}  // namespace
}  // namespace gmlake::bench
