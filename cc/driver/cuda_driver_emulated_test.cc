// CudaDriver over the emulated device, which is as strict as CUDA and notices broken rules. (cuda_driver_test.cc: the
// same class over a driver that obeys a script call by call.)
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "cc/driver/cuda_driver.h"
#include "cc/driver/cuda_functions.h"
#include "cc/driver/cuda_library.h"

namespace gmlake {
namespace {

constexpr char kLibrary[] = "cc/emulator/libcuda.so.1";

// The emulator's own questions; they are no part of CUDA, so they are looked up here.
template <typename Result, typename... Arguments>
Result Ask(const char* name, Arguments... arguments) {
  void* const library = dlopen(kLibrary, RTLD_NOW);
  return reinterpret_cast<Result (*)(Arguments...)>(dlsym(library, name))(arguments...);
}

class CudaDriverEmulatedTest : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    StatusOr<CudaFunctions> opened = LoadCuda(kLibrary);
    ASSERT_TRUE(opened.ok()) << opened.status().message();
    cuda_ = new CudaFunctions(*opened);
  }

  void SetUp() override {
    StatusOr<std::unique_ptr<CudaDriver>> opened = CudaDriver::Open(*cuda_, 0);
    ASSERT_TRUE(opened.ok()) << opened.status().message();
    driver_ = std::move(*opened);
    used_before_ = Used();
  }

  void TearDown() override {
    Ask<int>("gmlake_emulator_set_faults", "");
    EXPECT_EQ(Ask<uint64_t>("gmlake_emulator_violations"), 0u);
    EXPECT_EQ(Used(), used_before_);
  }

  static size_t Used() { return Ask<size_t>("gmlake_emulator_used", 0); }

  static CudaFunctions* cuda_;
  std::unique_ptr<CudaDriver> driver_;
  size_t used_before_ = 0;
};

CudaFunctions* CudaDriverEmulatedTest::cuda_ = nullptr;

TEST_F(CudaDriverEmulatedTest, TheDeviceCanBeUsed) {
  EXPECT_EQ(driver_->granularity(), MiB(2));
  EXPECT_TRUE(driver_->Probe().ok());
  EXPECT_EQ(driver_->QueryMemory()->total, MiB(256));
}

// The device promises fabric handles and refuses them; the peer was found.
TEST_F(CudaDriverEmulatedTest, TheWidestKindOfBlockThatWorksIsTaken) {
  EXPECT_NE(driver_->Describe().find("file descriptor"), std::string::npos) << driver_->Describe();
  EXPECT_EQ(driver_->Describe().find("fabric"), std::string::npos) << driver_->Describe();
  EXPECT_NE(driver_->Describe().find("1"), std::string::npos) << driver_->Describe();
}

TEST_F(CudaDriverEmulatedTest, ABlockLivesFromCreateToRelease) {
  StatusOr<BlockHandle> block = driver_->Create(MiB(4));
  StatusOr<Address> address = driver_->Reserve(MiB(4));
  ASSERT_TRUE(block.ok() && address.ok());
  EXPECT_TRUE(driver_->Map(*address, MiB(4), *block).ok());
  EXPECT_TRUE(driver_->SetAccess(*address, MiB(4)).ok());
  EXPECT_EQ(Used(), used_before_ + (4 << 20));
  EXPECT_TRUE(driver_->Unmap(*address, MiB(4)).ok());
  EXPECT_TRUE(driver_->FreeAddress(*address, MiB(4)).ok());
  EXPECT_TRUE(driver_->Release(*block).ok());
}

TEST_F(CudaDriverEmulatedTest, MoreThanTheDeviceHasIsOutOfMemory) {
  EXPECT_EQ(driver_->Create(GiB(1)).status().code(), StatusCode::kOutOfMemory);
}

TEST_F(CudaDriverEmulatedTest, ACallThatFailsSaysWhichAndWhy) {
  ASSERT_EQ(Ask<int>("gmlake_emulator_set_faults", "cuMemAddressReserve@1=999"), 1);
  const Status failed = driver_->Reserve(MiB(2)).status();
  EXPECT_EQ(failed.code(), StatusCode::kDriverError);
  EXPECT_NE(failed.message().find("cuMemAddressReserve"), std::string::npos) << failed.message();
}

TEST_F(CudaDriverEmulatedTest, AnEventOfTheDefaultStreamCompletes) {
  StatusOr<EventHandle> event = driver_->RecordEvent(StreamHandle{});
  ASSERT_TRUE(event.ok());
  EXPECT_TRUE(driver_->WaitOnHost(*event).ok());
  EXPECT_TRUE(*driver_->IsComplete(*event));
  EXPECT_FALSE(*driver_->IsCapturing(StreamHandle{}));
  driver_->DestroyEvent(*event);
}

}  // namespace
}  // namespace gmlake

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  setenv("GMLAKE_EMULATOR_DEVICES", "2", 1);
  setenv("GMLAKE_EMULATOR_MEMORY", "256MiB", 1);
  return RUN_ALL_TESTS();
}
