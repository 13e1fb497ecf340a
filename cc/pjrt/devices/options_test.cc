#include "cc/pjrt/devices/options.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <optional>
#include <string>

namespace gmlake {
namespace {

GmlakeOptions Given() {
  GmlakeOptions given = {};
  given.struct_size = sizeof(given);
  return given;
}

TEST(OptionsTest, NoneMeansTheDefaults) {
  const StatusOr<Options> options = OptionsFrom(nullptr);
  ASSERT_TRUE(options.ok());
  EXPECT_EQ(options->limit_kind, GMLAKE_LIMIT_DEFAULT);
  EXPECT_FALSE(options->preallocate);
}

TEST(OptionsTest, TakesWhatTheCallerGives) {
  GmlakeOptions given = Given();
  given.driver_path = "/some/libcuda.so.1";
  given.limit_kind = GMLAKE_LIMIT_BYTES;
  given.limit_bytes = 8 << 20;
  given.preallocate = 1;
  const StatusOr<Options> options = OptionsFrom(&given);
  ASSERT_TRUE(options.ok());
  EXPECT_EQ(options->driver_path, "/some/libcuda.so.1");
  EXPECT_EQ(options->limit, MiB(8));
  EXPECT_TRUE(options->preallocate);
}

TEST(OptionsTest, RefusesACallerOfAnotherVersion) {
  GmlakeOptions given = Given();
  given.struct_size -= 8;
  EXPECT_EQ(OptionsFrom(&given).status().code(), StatusCode::kInvalidArgument);
}

TEST(OptionsTest, RefusesLimitsThatCannotBeMeant) {
  GmlakeOptions given = Given();
  given.limit_kind = GMLAKE_LIMIT_BYTES;
  given.limit_bytes = -1;
  EXPECT_FALSE(OptionsFrom(&given).ok());
  given.limit_kind = GMLAKE_LIMIT_FRACTION;
  for (double fraction : {0.0, -0.5, 1.01}) {
    given.limit_fraction = fraction;
    EXPECT_FALSE(OptionsFrom(&given).ok()) << fraction;
  }
  given.limit_kind = 7;
  EXPECT_FALSE(OptionsFrom(&given).ok());
}

TEST(LimitTest, IsBytesOrAFractionOfTheDevice) {
  Options options;
  options.limit_kind = GMLAKE_LIMIT_FRACTION;
  options.fraction = 0.25;
  EXPECT_EQ(*ResolveLimit(options, GiB(80)), GiB(20));
  options.limit_kind = GMLAKE_LIMIT_BYTES;
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
  GmlakeOptions given = Given();
  given.record_events = int64_t{1} << 60;
  const Status refused = OptionsFrom(&given).status();
  EXPECT_EQ(refused.code(), StatusCode::kInvalidArgument);
  EXPECT_NE(refused.message().find("at most 100000000"), std::string::npos) << refused.message();
}

TEST(OptionsTest, RefusesSecondsThatNobodyWaits) {
  for (double seconds : {-1.0, 1e30, std::numeric_limits<double>::infinity(), std::nan("")}) {
    GmlakeOptions given = Given();
    given.wait_s = seconds;
    EXPECT_FALSE(OptionsFrom(&given).ok()) << seconds;
    given.wait_s = 0;
    given.idle_trim_s = seconds;
    EXPECT_FALSE(OptionsFrom(&given).ok()) << seconds;
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
  GmlakeOptions given = Given();
  given.limit_kind = GMLAKE_LIMIT_BYTES;
  given.limit_bytes = 8 << 20;
  const StatusOr<Options> adapted = Adapted(*OptionsFrom(&given), {0.5, true});
  ASSERT_TRUE(adapted.ok());
  EXPECT_EQ(*ResolveLimit(*adapted, GiB(80)), MiB(8));
  EXPECT_FALSE(adapted->preallocate);
}

}  // namespace
}  // namespace gmlake
