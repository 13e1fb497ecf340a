// The churn with every byte watched, on the emulated device: streams are threads there, and every piece of work is
// late. (pattern_churn_main.cc: the same on a GPU.)
#include "cc/safety/pattern_churn.h"

#include <dlfcn.h>

#include <cstdlib>

#include "cc/driver/cuda_driver.h"
#include "cc/driver/cuda_functions.h"
#include "cc/driver/cuda_library.h"
#include "gtest/gtest.h"

namespace gmlake {
namespace {

constexpr char kLibrary[] = "cc/emulator/libcuda.so.1";

uint64_t Violations() {
  void* const library = dlopen(kLibrary, RTLD_NOW);
  return reinterpret_cast<uint64_t (*)()>(dlsym(library, "gmlake_emulator_violations"))();
}

// Fewer under sanitizers, which are slow to fill and to compare (make sanitize).
int64_t Operations() {
  const char* const asked = std::getenv("GMLAKE_SAFETY_CHURN_OPERATIONS");
  return asked == nullptr ? 2500 : std::atoll(asked);
}

class PatternChurnTest : public testing::Test {
 protected:
  static PatternChurnReport Run(const PatternChurnOptions& options) {
    static const StatusOr<CudaFunctions> cuda = LoadCuda(kLibrary);
    const auto ink = MakeCopyInk(*cuda, kLibrary, 0);
    const auto driver = CudaDriver::Open(*cuda, 0);
    EXPECT_TRUE(ink.ok() && driver.ok());
    const StatusOr<PatternChurnReport> report = PatternChurn(driver->get(), ink->get(), options).Run();
    EXPECT_TRUE(report.ok()) << report.status().message();
    if (report.ok()) std::printf("%s\n", ToJson(*report).c_str());
    return report.ok() ? *report : PatternChurnReport();
  }

  static PatternChurnOptions Options(uint64_t seed) {
    PatternChurnOptions options;
    options.limit = MiB(96);
    options.operations = Operations();
    options.seed = seed;
    return options;
  }
};

TEST_F(PatternChurnTest, EveryByteIsItsOwnersUntilTheFree) {
  for (uint64_t seed = 1; seed <= 2; ++seed) {
    const PatternChurnReport report = Run(Options(seed));
    EXPECT_EQ(report.wrong_words, 0);
    EXPECT_EQ(report.broken, "");
    EXPECT_EQ(report.checked, report.painted);
    EXPECT_GT(report.checked_shared, Bytes(0));
    EXPECT_GT(report.stats.by_way[static_cast<int>(Way::kStitch)].count, 0);
    EXPECT_GT(report.stats.driver_calls.unmap, 0);
    EXPECT_GT(report.replays, 0);
  }
  EXPECT_EQ(Violations(), 0u);
}

TEST_F(PatternChurnTest, APatternBrokenOnPurposeIsFound) {
  PatternChurnOptions options = Options(1);
  options.misuse = true;
  EXPECT_GT(Run(options).wrong_words, 0);
}

}  // namespace
}  // namespace gmlake

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  setenv("GMLAKE_EMULATOR_MEMORY", "256MiB", 1);
  setenv("GMLAKE_EMULATOR_ASYNC", "1", 1);
  setenv("GMLAKE_EMULATOR_DELAY_US", "100", 1);
  return RUN_ALL_TESTS();
}
