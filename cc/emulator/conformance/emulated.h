// For tests of the emulator: its library in this process, and how many times a rule was broken.
#ifndef GMLAKE_EMULATOR_CONFORMANCE_EMULATED_H_
#define GMLAKE_EMULATOR_CONFORMANCE_EMULATED_H_

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "cc/emulator/conformance/steps.h"
#include "cc/emulator/entries/introspection.h"

namespace gmlake::conformance {

// Loads the emulator with two devices; the calling thread uses the first. Settings are read once in a process, so
// tests that need others are programs of their own.
inline void StartEmulator(bool async, int64_t delay_us) {
  setenv("GMLAKE_EMULATOR_DEVICES", "2", 1);
  setenv("GMLAKE_EMULATOR_MEMORY", "256MiB", 1);
  setenv("GMLAKE_EMULATOR_ASYNC", async ? "1" : "0", 1);
  setenv("GMLAKE_EMULATOR_DELAY_US", std::to_string(delay_us).c_str(), 1);
  setenv("GMLAKE_EMULATOR_LOG", "/dev/null", 1);
  Open("cc/emulator/libcuda.so.1");
  GMLAKE_MUST(GMLAKE_CALL(cuInit)(0));
  UseDevice(0);
}

inline uint64_t Broken(const char* rule) { return GMLAKE_CALL(gmlake_emulator_violations_of)(rule); }
inline uint64_t Broken() { return GMLAKE_CALL(gmlake_emulator_violations)(); }

inline std::string Described() {
  std::string text(1 << 14, '\0');
  text.resize(std::min(text.size() - 1, GMLAKE_CALL(gmlake_emulator_describe_violations)(text.data(), text.size())));
  return text;
}

// A test of one rule: counts start at zero, and what is not expected to be broken must not be.
class RuleTest : public testing::Test {
 protected:
  void SetUp() override { GMLAKE_CALL(gmlake_emulator_reset_violations)(); }
  void TearDown() override {
    if (!expects_violations_) {
      EXPECT_EQ(Broken(), 0) << Described();
    }
  }
  // The rule was broken `count` times, and no other.
  void ExpectBroken(const char* rule, uint64_t count = 1) {
    expects_violations_ = true;
    EXPECT_EQ(Broken(rule), count) << Described();
    EXPECT_EQ(Broken(), count) << Described();
  }

 private:
  bool expects_violations_ = false;
};

}  // namespace gmlake::conformance

#endif  // GMLAKE_EMULATOR_CONFORMANCE_EMULATED_H_
