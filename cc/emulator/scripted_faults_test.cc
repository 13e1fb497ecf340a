// The fault script seen from outside: calls of the driver that fail or are slow as a test wants them.
#include <chrono>

#include "cc/emulator/conformance/emulated.h"

namespace gmlake::conformance {
namespace {

int SetFaults(const char* script) { return GMLAKE_CALL(gmlake_emulator_set_faults)(script); }

// How many of `calls` creations fail.
int CountFailures(int calls) {
  int failures = 0;
  for (int i = 0; i < calls; ++i) {
    CUmemGenericAllocationHandle handle = 0;
    if (Create(&handle, kGranule) == CUDA_SUCCESS) {
      GMLAKE_MUST(Release(handle));
    } else {
      ++failures;
    }
  }
  return failures;
}

class ScriptedFaultsTest : public RuleTest {
 protected:
  void TearDown() override {
    SetFaults("");
    RuleTest::TearDown();
  }
};

TEST_F(ScriptedFaultsTest, WithoutAScriptNothingFails) { EXPECT_EQ(CountFailures(20), 0); }

TEST_F(ScriptedFaultsTest, ACallFailsOnce) {
  ASSERT_EQ(SetFaults("cuMemCreate@3"), 1);
  EXPECT_EQ(CountFailures(2), 0);
  EXPECT_EQ(CountFailures(1), 1);
  EXPECT_EQ(CountFailures(20), 0);
}

TEST_F(ScriptedFaultsTest, ACallFailsFromThenOn) {
  ASSERT_EQ(SetFaults("cuMemCreate@3+"), 1);
  EXPECT_EQ(CountFailures(10), 8);
}

TEST_F(ScriptedFaultsTest, RandomFailuresRepeatWithTheirSeed) {
  ASSERT_EQ(SetFaults("cuMemCreate%30/7"), 1);
  const int first = CountFailures(100);
  ASSERT_EQ(SetFaults("cuMemCreate%30/7"), 1);
  EXPECT_EQ(CountFailures(100), first);
  EXPECT_GT(first, 10);
  EXPECT_LT(first, 60);
}

TEST_F(ScriptedFaultsTest, TheCodeIsTheScripts) {
  ASSERT_EQ(SetFaults("cuMemAddressReserve@1=999"), 1);
  CUdeviceptr at = 0;
  EXPECT_EQ(GMLAKE_CALL(cuMemAddressReserve)(&at, kGranule, 0, 0, 0), CUDA_ERROR_UNKNOWN);
}

TEST_F(ScriptedFaultsTest, AFailedCallHasNoEffect) {
  Pair pair;
  ASSERT_EQ(SetFaults("cuMem*@1"), 1);
  EXPECT_EQ(Unmap(pair.at, 2 * kGranule), CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(GMLAKE_CALL(cuMemsetD8)(pair.at, 1, 2 * kGranule), CUDA_SUCCESS);
}

TEST_F(ScriptedFaultsTest, ACallIsSlow) {
  ASSERT_EQ(SetFaults("cuMemCreate~20000"), 1);
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_EQ(CountFailures(1), 0);
  EXPECT_GE(std::chrono::steady_clock::now() - begin, std::chrono::milliseconds(20));
}

TEST_F(ScriptedFaultsTest, WhatIsNoScriptChangesNothing) {
  ASSERT_EQ(SetFaults("cuMemCreate@1+"), 1);
  EXPECT_EQ(SetFaults("cuMemCreate"), 0);
  EXPECT_EQ(CountFailures(1), 1);
}

TEST_F(ScriptedFaultsTest, CallsAreCountedAlsoWhenTheyFail) {
  const uint64_t before = GMLAKE_CALL(gmlake_emulator_calls)("cuMemCreate");
  ASSERT_EQ(SetFaults("cuMemCreate@1"), 1);
  CountFailures(2);
  EXPECT_EQ(GMLAKE_CALL(gmlake_emulator_calls)("cuMemCreate"), before + 2);
  EXPECT_GE(GMLAKE_CALL(gmlake_emulator_memory_calls)(), before + 2);
}

}  // namespace
}  // namespace gmlake::conformance

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  gmlake::conformance::StartEmulator(/*async=*/false, /*delay_us=*/0);
  return RUN_ALL_TESTS();
}
