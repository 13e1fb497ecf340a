#include "cc/pjrt/devices/options.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

namespace gmlake {
namespace {

StatusOr<Options> From(const std::vector<GmlakeOption>& given) { return OptionsFrom(given.data(), given.size()); }

TEST(OptionsTest, NoneMeansTheDefaults) {
  const StatusOr<Options> options = OptionsFrom(nullptr, 0);
  ASSERT_TRUE(options.ok());
  EXPECT_EQ(options->limit_kind, LimitKind::kDefault);
  EXPECT_FALSE(options->preallocate);
}

TEST(OptionsTest, TakesWhatTheCallerGives) {
  const StatusOr<Options> options =
      From({{"driver", "/some/libcuda.so.1"}, {"limit", "8388608"}, {"preallocate", "1"}, {"wait", "2.5"}});
  ASSERT_TRUE(options.ok());
  EXPECT_EQ(options->driver_path, "/some/libcuda.so.1");
  EXPECT_EQ(options->limit, MiB(8));
  EXPECT_TRUE(options->preallocate);
  EXPECT_EQ(options->wait_s, 2.5);
}

TEST(OptionsTest, RefusesANameThatItDoesNotKnow) {
  const Status refused = From({{"limits", "8388608"}}).status();
  EXPECT_EQ(refused.code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(refused.message().find("libgmlake_pjrt.so has no option limits; its options are driver, fraction,"), 0u)
      << refused.message();
}

TEST(OptionsTest, RefusesLimitsThatCannotBeMeant) {
  EXPECT_FALSE(From({{"limit", "-1"}}).ok());
  for (const char* fraction : {"0.0", "-0.5", "1.01", "0.5x", "half"}) {
    EXPECT_FALSE(From({{"fraction", fraction}}).ok()) << fraction;
  }
}

TEST(OptionsTest, AFractionArrivesWithoutLoss) {
  EXPECT_EQ(From({{"fraction", "0.28999999999999998"}})->fraction, 0.28999999999999998);
}

TEST(LimitTest, IsBytesOrAFractionOfTheDevice) {
  Options options;
  options.limit_kind = LimitKind::kFraction;
  options.fraction = 0.25;
  EXPECT_EQ(*ResolveLimit(options, GiB(80)), GiB(20));
  options.limit_kind = LimitKind::kBytes;
  options.limit = GiB(3);
  EXPECT_EQ(*ResolveLimit(options, GiB(80)), GiB(3));
  EXPECT_EQ(ResolveLimit(options, GiB(2)).status().code(), StatusCode::kInvalidArgument);
}

TEST(LimitTest, LeavesAReserveByDefault) {
  EXPECT_EQ(*ResolveLimit(Options(), GiB(80)), MiB(78336));
  EXPECT_EQ(*ResolveLimit(Options(), GiB(8)), MiB(6912));
  EXPECT_EQ(*ResolveLimit(Options(), GiB(2)), MiB(1536));
}

TEST(OptionsTest, RefusesARecordingThatNoHostHasMemoryFor) {
  const Status refused = From({{"record_events", "1152921504606846976"}}).status();
  EXPECT_EQ(refused.code(), StatusCode::kInvalidArgument);
  EXPECT_NE(refused.message().find("at most 100000000"), std::string::npos) << refused.message();
}

TEST(OptionsTest, RefusesSecondsThatNobodyWaits) {
  for (const char* seconds : {"-1.0", "1e30", "inf", "nan"}) {
    EXPECT_FALSE(From({{"wait", seconds}}).ok()) << seconds;
    EXPECT_FALSE(From({{"idle_trim", seconds}}).ok()) << seconds;
  }
}

TEST(OptionsTest, AClientsWishesStandWhereNothingElseWasGiven) {
  const StatusOr<Options> adapted = Adapted(Options(), {0.5, true});
  ASSERT_TRUE(adapted.ok());
  EXPECT_EQ(*ResolveLimit(*adapted, GiB(80)), GiB(40));
  EXPECT_TRUE(adapted->preallocate);
  EXPECT_EQ(Adapted(Options(), {1.5, std::nullopt}).status().code(), StatusCode::kInvalidArgument) << "unified memory";
}

TEST(OptionsTest, WhatWasGivenToUsComesBeforeAClientsWishes) {
  const StatusOr<Options> adapted = Adapted(*From({{"limit", "8388608"}, {"preallocate", "0"}}), {0.5, true});
  ASSERT_TRUE(adapted.ok());
  EXPECT_EQ(*ResolveLimit(*adapted, GiB(80)), MiB(8));
  EXPECT_FALSE(adapted->preallocate);
}

}  // namespace
}  // namespace gmlake
