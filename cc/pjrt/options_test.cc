#include "cc/pjrt/options.h"

#include <gtest/gtest.h>

#include <cstdlib>

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

class EnvironmentTest : public testing::Test {
 protected:
  void TearDown() override {
    for (const char* name :
         {"GMLAKE_LIMIT", "GMLAKE_PREALLOCATE", "GMLAKE_VERBOSE", "GMLAKE_STITCH_AHEAD", "GMLAKE_DRIVER"}) {
      unsetenv(name);
    }
  }
  void Set(const char* name, const char* value) { setenv(name, value, 1); }
};

TEST_F(EnvironmentTest, EmptyMeansTheDefaults) {
  const StatusOr<Options> options = OptionsFromEnvironment();
  ASSERT_TRUE(options.ok());
  EXPECT_EQ(options->limit_kind, GMLAKE_LIMIT_DEFAULT);
}

TEST_F(EnvironmentTest, ReadsSizesInTheUsualUnits) {
  const std::pair<const char*, Bytes> cases[] = {
      {"20GiB", GiB(20)}, {"1.5gib", MiB(1536)}, {"4194304", MiB(4)}, {"4194304b", MiB(4)}, {"3GB", Bytes(3000000000)}};
  for (const auto& [text, bytes] : cases) {
    Set("GMLAKE_LIMIT", text);
    const StatusOr<Options> options = OptionsFromEnvironment();
    ASSERT_TRUE(options.ok()) << text;
    EXPECT_EQ(options->limit, bytes) << text;
  }
}

TEST_F(EnvironmentTest, ReadsAShareOfTheDevice) {
  Set("GMLAKE_LIMIT", "80%");
  const StatusOr<Options> options = OptionsFromEnvironment();
  ASSERT_TRUE(options.ok());
  EXPECT_EQ(options->limit_kind, GMLAKE_LIMIT_FRACTION);
  EXPECT_DOUBLE_EQ(options->fraction, 0.8);
}

TEST_F(EnvironmentTest, RefusesWhatIsNoSize) {
  for (const char* text : {"much", "20XiB", "20GiBs", "120%", "0%", "nan", "100000000TiB", "-3GiB", "1"}) {
    Set("GMLAKE_LIMIT", text);
    EXPECT_EQ(OptionsFromEnvironment().status().code(), StatusCode::kInvalidArgument) << text;
  }
}

TEST_F(EnvironmentTest, RefusesFlagsThatAreNeitherOnNorOff) {
  Set("GMLAKE_PREALLOCATE", "maybe");
  const StatusOr<Options> options = OptionsFromEnvironment();
  ASSERT_FALSE(options.ok());
  EXPECT_EQ(options.status().message(), "GMLAKE_PREALLOCATE=maybe: expected 1 or 0");
}

TEST_F(EnvironmentTest, ReadsFlagsInAnyCase) {
  Set("GMLAKE_PREALLOCATE", "True");
  Set("GMLAKE_VERBOSE", "off");
  Set("GMLAKE_STITCH_AHEAD", "No");
  const StatusOr<Options> options = OptionsFromEnvironment();
  ASSERT_TRUE(options.ok());
  EXPECT_TRUE(options->preallocate);
  EXPECT_FALSE(options->verbose);
  EXPECT_FALSE(options->stitch_ahead);
}

TEST_F(EnvironmentTest, LeavesFlagsThatAreNotSetAsTheyAre) {
  Set("GMLAKE_STITCH_AHEAD", "");
  EXPECT_TRUE(OptionsFromEnvironment()->stitch_ahead);
  Set("GMLAKE_STITCH_AHEAD", "sometimes");
  EXPECT_EQ(OptionsFromEnvironment().status().code(), StatusCode::kInvalidArgument);
}

TEST(OptionsFromEnvironmentTest, SecondsAreNumbers) {
  setenv("GMLAKE_IDLE_TRIM", "2.5", 1);
  setenv("GMLAKE_WAIT", "60", 1);
  const StatusOr<Options> options = OptionsFromEnvironment();
  ASSERT_TRUE(options.ok());
  EXPECT_EQ(options->idle_trim_s, 2.5);
  EXPECT_EQ(options->wait_s, 60);
  for (const char* text : {"-1", "soon", "1e9", "5s", "nan"}) {
    setenv("GMLAKE_WAIT", text, 1);
    EXPECT_FALSE(OptionsFromEnvironment().ok()) << text;
  }
  unsetenv("GMLAKE_IDLE_TRIM");
  unsetenv("GMLAKE_WAIT");
}

}  // namespace
}  // namespace gmlake
