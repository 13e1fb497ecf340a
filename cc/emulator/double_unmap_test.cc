// The setting under which unmapping what is not mapped breaks a rule; without it, see mapping_rules_test.cc.
#include "cc/emulator/conformance/emulated.h"

namespace gmlake::conformance {
namespace {

class DoubleUnmapTest : public RuleTest {};

TEST_F(DoubleUnmapTest, UnmappingOnceIsFine) {
  Pair pair;
  EXPECT_EQ(Unmap(pair.at, 2 * kGranule), CUDA_SUCCESS);
}

TEST_F(DoubleUnmapTest, UnmappingTwiceIsRefused) {
  Pair pair;
  GMLAKE_MUST(Unmap(pair.at, 2 * kGranule));
  EXPECT_EQ(Unmap(pair.at, 2 * kGranule), CUDA_ERROR_INVALID_VALUE);
  ExpectBroken("double-unmap");
}

TEST_F(DoubleUnmapTest, ARangeWithAHoleIsRefusedAndStaysMapped) {
  Pair pair;
  EXPECT_EQ(Unmap(pair.at, 3 * kGranule), CUDA_ERROR_INVALID_VALUE);
  ExpectBroken("double-unmap");
  EXPECT_EQ(GMLAKE_CALL(cuMemsetD8)(pair.at, 1, 2 * kGranule), CUDA_SUCCESS);
}

}  // namespace
}  // namespace gmlake::conformance

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  setenv("GMLAKE_EMULATOR_DOUBLE_UNMAP", "refuse", 1);
  gmlake::conformance::StartEmulator(/*async=*/false, /*delay_us=*/0);
  return RUN_ALL_TESTS();
}
