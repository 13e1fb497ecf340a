#include "cc/pjrt/install/environment.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

namespace gmlake {
namespace {

class EnvironmentTest : public testing::Test {
 protected:
  // Without what whoever runs the test has set.
  void SetUp() override {
    std::vector<std::string> found;
    for (char** entry = environ; *entry != nullptr; ++entry) {
      const std::string name(*entry, std::strcspn(*entry, "="));
      if (name.rfind("GMLAKE", 0) == 0) found.push_back(name);
    }
    for (const std::string& name : found) unsetenv(name.c_str());
  }
  void TearDown() override {
    for (const std::string& name : set_) unsetenv(name.c_str());
  }
  void Set(const char* name, const char* value) {
    setenv(name, value, 1);
    set_.push_back(name);
  }
  // What is said of the variable's value; empty where it is accepted.
  std::string Refusal(const char* name, const char* value) {
    Set(name, value);
    return OptionsFromEnvironment().status().message();
  }

 private:
  std::vector<std::string> set_;
};

TEST_F(EnvironmentTest, EmptyMeansTheDefaults) {
  const StatusOr<Options> options = OptionsFromEnvironment();
  ASSERT_TRUE(options.ok());
  EXPECT_EQ(options->limit_kind, LimitKind::kDefault);
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
  EXPECT_EQ(options->limit_kind, LimitKind::kFraction);
  EXPECT_DOUBLE_EQ(options->fraction, 0.8);
}

TEST_F(EnvironmentTest, RefusesWhatIsNoSize) {
  for (const char* text : {"much", "20XiB", "20GiBs", "120%", "0%", "nan", "100000000TiB", "-3GiB", "-1e30", "1e400",
                           "99999999999999999999999", "%", "inf", "1"}) {
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
  Set("GMLAKE_VERBOSE", "No");
  const StatusOr<Options> options = OptionsFromEnvironment();
  ASSERT_TRUE(options.ok());
  EXPECT_TRUE(options->preallocate);
  EXPECT_FALSE(options->verbose);
}

TEST_F(EnvironmentTest, LeavesFlagsThatAreNotSetAsTheyAre) {
  Set("XLA_PYTHON_CLIENT_PREALLOCATE", "true");
  Set("GMLAKE_PREALLOCATE", "");
  EXPECT_TRUE(OptionsFromEnvironment()->preallocate);
  Set("GMLAKE_PREALLOCATE", "sometimes");
  EXPECT_EQ(OptionsFromEnvironment().status().code(), StatusCode::kInvalidArgument);
}

TEST_F(EnvironmentTest, SecondsAreNumbers) {
  Set("GMLAKE_IDLE_TRIM", "2.5");
  Set("GMLAKE_WAIT", "60");
  const StatusOr<Options> options = OptionsFromEnvironment();
  ASSERT_TRUE(options.ok());
  EXPECT_EQ(options->idle_trim_s, 2.5);
  EXPECT_EQ(options->wait_s, 60);
  for (const char* text : {"-1", "soon", "1e9", "5s", "nan"}) {
    Set("GMLAKE_WAIT", text);
    EXPECT_FALSE(OptionsFromEnvironment().ok()) << text;
  }
}

TEST_F(EnvironmentTest, CountsOfEventsAreNumbersThatFit) {
  Set("GMLAKE_RECORD_EVENTS", "5000");
  EXPECT_EQ(OptionsFromEnvironment()->record_events, 5000);
  for (const char* text : {"0", "-5", "many", "5k", "99999999999999999999", "1000000000000"}) {
    EXPECT_NE(Refusal("GMLAKE_RECORD_EVENTS", text), "") << text;
  }
}

TEST_F(EnvironmentTest, AVariableThatNobodyKnowsIsNamed) {
  EXPECT_EQ(Refusal("GMLAKE_LIMITS", "5GiB").find("GMLAKE_LIMITS is not a variable of gmlake_jax"), 0u);
}

TEST_F(EnvironmentTest, OthersVariablesAndThoseOfThePythonPackageAreNoMistake) {
  for (const char* name : {"GMLAKE_EMULATOR_DEVICES", "GMLAKE_TEST_X", "GMLAKE_TOP", "GMLAKE_STATS_FILE", "GMLAKES"}) {
    EXPECT_EQ(Refusal(name, "1"), "") << name;
  }
}

TEST_F(EnvironmentTest, GmlakeSwitchesOffAndIsOnWhereNobodySaysSo) {
  EXPECT_FALSE(IsSwitchedOff());
  for (const char* off : {"0", "false", "OFF", "no"}) {
    Set("GMLAKE", off);
    EXPECT_TRUE(IsSwitchedOff()) << off;
  }
  Set("GMLAKE", "1");
  EXPECT_FALSE(IsSwitchedOff());
  EXPECT_EQ(Refusal("GMLAKE", "perhaps"), "GMLAKE=perhaps: expected 1 or 0");
}

TEST_F(EnvironmentTest, UnifiedMemoryIsAReasonToStepAside) {
  for (const char* no : {"", "0", "False"}) {
    Set("TF_FORCE_UNIFIED_MEMORY", no);
    EXPECT_EQ(ReasonToStepAside(), "") << no;
  }
  Set("TF_FORCE_UNIFIED_MEMORY", "1");
  EXPECT_NE(ReasonToStepAside().find("unified memory"), std::string::npos);
}

TEST_F(EnvironmentTest, XlasFractionIsALimitUnlessOursIsSet) {
  const std::pair<const char*, double> cases[] = {{"0.5", 0.5}, {".25", 0.25}, {"0.75+", 1}, {"0.75-0.85", 0.85}};
  for (const auto& [text, share] : cases) {
    Set("XLA_PYTHON_CLIENT_MEM_FRACTION", text);
    const StatusOr<Options> options = OptionsFromEnvironment();
    ASSERT_TRUE(options.ok()) << text;
    EXPECT_EQ(options->limit_kind, LimitKind::kFraction) << text;
    EXPECT_DOUBLE_EQ(options->fraction, share) << text;
  }
  Set("GMLAKE_LIMIT", "4GiB");
  EXPECT_EQ(OptionsFromEnvironment()->limit, GiB(4));
}

TEST_F(EnvironmentTest, AFractionThatIsNoneIsRefused) {
  for (const char* text : {"1.5", "0", "-0.5", "half", "0.5x", "0.8-0.5", "0.8-", "nan", "1e30"}) {
    EXPECT_NE(Refusal("XLA_CLIENT_MEM_FRACTION", text), "") << text;
  }
  Set("XLA_CLIENT_MEM_FRACTION", "0.5");
  EXPECT_NE(Refusal("XLA_PYTHON_CLIENT_MEM_FRACTION", "0.5").find("both set"), std::string::npos);
}

TEST_F(EnvironmentTest, XlasPreallocationIsOursUnlessOursIsSet) {
  Set("XLA_PYTHON_CLIENT_PREALLOCATE", "true");
  EXPECT_TRUE(OptionsFromEnvironment()->preallocate);
  EXPECT_TRUE(OptionsFromEnvironment()->preallocate_is_given);
  Set("GMLAKE_PREALLOCATE", "0");
  EXPECT_FALSE(OptionsFromEnvironment()->preallocate);
}

TEST_F(EnvironmentTest, AnotherAllocatorAndOursAreAContradiction) {
  EXPECT_EQ(Refusal("XLA_PYTHON_CLIENT_ALLOCATOR", "default"), "");
  EXPECT_NE(Refusal("XLA_PYTHON_CLIENT_ALLOCATOR", "platform").find("asks for another allocator"), std::string::npos);
}

}  // namespace
}  // namespace gmlake
