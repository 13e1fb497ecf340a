#include "cc/driver/cuda_driver.h"

#include <thread>

#include "cc/driver/cuda_devices.h"
#include "cc/driver/cuda_library.h"
#include "cc/driver/cuda_result.h"
#include "cc/driver/cuda_status.h"
#include "cc/driver/testing/scripted_cuda_fixture.h"

namespace gmlake {
namespace {

class CudaDriverTest : public ScriptedCudaTest {
 protected:
  void SetUp() override {
    ScriptedCudaTest::SetUp();
    const StatusOr<CudaFunctions> cuda = LoadCuda(kScriptedCudaPath);
    ASSERT_TRUE(cuda.ok()) << cuda.status().message();
    cuda_ = *cuda;
  }

  std::unique_ptr<CudaDriver> Open(int ordinal = 0) {
    StatusOr<std::unique_ptr<CudaDriver>> driver = CudaDriver::Open(cuda_, ordinal);
    EXPECT_TRUE(driver.ok()) << driver.status().message();
    return driver.ok() ? std::move(*driver) : nullptr;
  }

  void ExpectNothingHeld() {
    EXPECT_EQ(seen().blocks, 0);
    EXPECT_EQ(seen().mappings, 0);
    EXPECT_EQ(seen().reservations, 0);
  }

  CudaFunctions cuda_;
};

unsigned HandleTypes(const CUmemAllocationProp& properties) { return properties.requestedHandleTypes; }

TEST_F(CudaDriverTest, ADriverThatIsNotThereIsALineOfText) {
  const StatusOr<CudaFunctions> missing = LoadCuda("/no/such/libcuda.so.1");
  EXPECT_EQ(missing.status().code(), StatusCode::kNotSupported);
  EXPECT_NE(missing.status().message().find("/no/such/libcuda.so.1"), std::string::npos);
}

TEST_F(CudaDriverTest, ALibraryThatIsNoDriverIsNamedByWhatItLacks) {
  const StatusOr<CudaFunctions> other = LoadCuda("libm.so.6");
  EXPECT_EQ(other.status().code(), StatusCode::kNotSupported);
  EXPECT_NE(other.status().message().find("cuInit"), std::string::npos);
}

TEST_F(CudaDriverTest, RefusesADeviceWithoutVirtualMemoryBeforeMakingAContext) {
  script().virtual_memory = false;
  EXPECT_EQ(CudaDriver::Open(cuda_, 0).status().code(), StatusCode::kNotSupported);
  EXPECT_EQ(seen().contexts, 0);
}

TEST_F(CudaDriverTest, OpeningAndClosingLeavesNothingBehind) {
  script().file_descriptor = script().fabric = script().rdma = true;
  Open().reset();
  ExpectNothingHeld();
  EXPECT_EQ(seen().contexts, 0);
}

TEST_F(CudaDriverTest, AsksForAllWaysToShareThatTheDeviceTakes) {
  script().file_descriptor = script().fabric = script().rdma = true;
  const std::unique_ptr<CudaDriver> driver = Open();
  ASSERT_TRUE(driver->Create(MiB(2)).ok());
  EXPECT_EQ(HandleTypes(seen().created.back()), CU_MEM_HANDLE_TYPE_FABRIC | CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
  EXPECT_EQ(seen().created.back().allocFlags.gpuDirectRDMACapable, 1);
}

TEST_F(CudaDriverTest, DoesNotBelieveAnAttributeThatTheProbeRefutes) {
  script().file_descriptor = script().rdma = script().rdma_access_fails = true;
  const std::unique_ptr<CudaDriver> driver = Open();
  ASSERT_TRUE(driver->Create(MiB(2)).ok());
  EXPECT_EQ(HandleTypes(seen().created.back()), CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
  EXPECT_EQ(seen().created.back().allocFlags.gpuDirectRDMACapable, 0);
}

TEST_F(CudaDriverTest, GoesDownTheLadderForOneBlockThatIsTooLargeToShare) {
  script().file_descriptor = true;
  script().descriptor_limit = size_t{1} << 30;
  const std::unique_ptr<CudaDriver> driver = Open();
  ASSERT_TRUE(driver->Create(GiB(4)).ok());
  EXPECT_EQ(HandleTypes(seen().created.back()), CU_MEM_HANDLE_TYPE_NONE);
  ASSERT_TRUE(driver->Create(MiB(64)).ok());
  EXPECT_EQ(HandleTypes(seen().created.back()), CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
}

TEST_F(CudaDriverTest, TellsExhaustionAtOnceWithoutTryingOtherKinds) {
  script().file_descriptor = true;
  const std::unique_ptr<CudaDriver> driver = Open();
  const int before = seen().calls["cuMemCreate"];
  Fail("cuMemCreate", CUDA_ERROR_OUT_OF_MEMORY);
  const StatusOr<BlockHandle> block = driver->Create(MiB(64));
  EXPECT_EQ(block.status().code(), StatusCode::kOutOfMemory);
  EXPECT_EQ(block.status().message(), "cuMemCreate of 64.0 MiB: CUDA_ERROR_OUT_OF_MEMORY (2)");
  EXPECT_EQ(seen().calls["cuMemCreate"], before + 1);
}

TEST_F(CudaDriverTest, OpensEveryMappingToThisDeviceAndAllPeersThatReachIt) {
  script().num_devices = 4;
  script().unreachable = {{2, 1}};
  const std::unique_ptr<CudaDriver> driver = Open(1);
  ASSERT_TRUE(driver->SetAccess(Address(0x1000), MiB(2)).ok());
  EXPECT_EQ(seen().access.back(), (std::vector<int>{1, 0, 3}));
}

TEST_F(CudaDriverTest, TransientRefusalOfAccessIsToldApart) {
  const std::unique_ptr<CudaDriver> driver = Open();
  Fail("cuMemSetAccess", CUDA_ERROR_NOT_READY, 1);
  EXPECT_EQ(driver->SetAccess(Address(0x1000), MiB(2)).code(), StatusCode::kNotReady);
  EXPECT_TRUE(driver->SetAccess(Address(0x1000), MiB(2)).ok());
}

TEST_F(CudaDriverTest, BringsItsContextToAThreadThatHasNoneAndTakesItAway) {
  const std::unique_ptr<CudaDriver> driver = Open();
  std::thread([&] {
    const StatusOr<EventHandle> event = driver->RecordEvent(StreamHandle());
    ASSERT_TRUE(event.ok());
    EXPECT_TRUE(driver->IsComplete(*event).ok());
    EXPECT_EQ(state_->current_context(), nullptr);
    driver->DestroyEvent(*event);
  }).join();
  EXPECT_TRUE(seen().violations.empty()) << seen().violations.front();
}

TEST_F(CudaDriverTest, LeavesAnotherDevicesContextAsItWas) {
  script().num_devices = 2;
  const std::unique_ptr<CudaDriver> driver = Open(1);
  const CUcontext other = reinterpret_cast<CUcontext>(1);
  state_->set_current_context(other);
  ASSERT_TRUE(driver->QueryMemory().ok());
  EXPECT_EQ(state_->current_context(), other);
}

TEST_F(CudaDriverTest, DoesNotSwitchWhenItsContextIsCurrent) {
  const std::unique_ptr<CudaDriver> driver = Open();
  state_->set_current_context(reinterpret_cast<CUcontext>(1));
  const int before = seen().calls["cuCtxSetCurrent"];
  ASSERT_TRUE(driver->Create(MiB(2)).ok());
  EXPECT_EQ(seen().calls["cuCtxSetCurrent"], before);
}

TEST_F(CudaDriverTest, EveryMemoryCallIsExemptFromCaptures) {
  const std::unique_ptr<CudaDriver> driver = Open();
  ASSERT_TRUE(driver->Probe().ok());
  EXPECT_TRUE(seen().violations.empty()) << seen().violations.front();
}

TEST_F(CudaDriverTest, RecordsAnEventAgainInsteadOfMakingAnother) {
  const std::unique_ptr<CudaDriver> driver = Open();
  for (int i = 0; i < 5; ++i) {
    const StatusOr<EventHandle> event = driver->RecordEvent(StreamHandle());
    ASSERT_TRUE(event.ok());
    driver->DestroyEvent(*event);
  }
  EXPECT_EQ(seen().calls["cuEventCreate"], 1);
}

TEST_F(CudaDriverTest, AnEventThatCouldNotBeRecordedIsNotHandedOut) {
  std::unique_ptr<CudaDriver> driver = Open();
  Fail("cuEventRecord", CUDA_ERROR_UNKNOWN, 1);
  EXPECT_FALSE(driver->RecordEvent(StreamHandle()).ok());
  driver.reset();
  EXPECT_EQ(seen().events, 0);
}

TEST_F(CudaDriverTest, AnEventThatIsNotReachedIsNoError) {
  const std::unique_ptr<CudaDriver> driver = Open();
  const StatusOr<EventHandle> event = driver->RecordEvent(StreamHandle());
  Fail("cuEventQuery", CUDA_ERROR_NOT_READY, 1);
  StatusOr<bool> complete = driver->IsComplete(*event);
  ASSERT_TRUE(complete.ok());
  EXPECT_FALSE(*complete);
  Fail("cuEventQuery", CUDA_ERROR_UNKNOWN, 1);
  EXPECT_FALSE(driver->IsComplete(*event).ok());
  driver->DestroyEvent(*event);
}

TEST_F(CudaDriverTest, SeesACapture) {
  const std::unique_ptr<CudaDriver> driver = Open();
  EXPECT_FALSE(*driver->IsCapturing(StreamHandle()));
  EXPECT_TRUE(*driver->IsCapturing(StreamHandle{script().captured_stream}));
}

TEST_F(CudaDriverTest, TheProbeNoticesMemoryThatForgets) {
  const std::unique_ptr<CudaDriver> driver = Open();
  script().forgets_writes = true;
  EXPECT_EQ(driver->Probe().code(), StatusCode::kDriverError);
  ExpectNothingHeld();
}

class ProbeFailureTest : public CudaDriverTest, public testing::WithParamInterface<const char*> {};

TEST_P(ProbeFailureTest, LeavesNothingBehind) {
  const std::unique_ptr<CudaDriver> driver = Open();
  for (int nth = 1; nth <= 2; ++nth) {
    Fail(GetParam(), CUDA_ERROR_UNKNOWN, nth);
    const Status probed = driver->Probe();
    if (!script().failing_call.empty()) break;  // that call is made only once
    EXPECT_FALSE(probed.ok()) << GetParam() << " " << nth;
    EXPECT_NE(probed.message().find(GetParam()), std::string::npos) << probed.message();
    ExpectNothingHeld();
  }
}

INSTANTIATE_TEST_SUITE_P(Calls, ProbeFailureTest,
                         testing::Values("cuMemAddressReserve", "cuMemCreate", "cuMemMap", "cuMemSetAccess",
                                         "cuMemsetD8", "cuMemcpyDtoH"));

TEST_F(CudaDriverTest, ListsDevicesWithoutMakingContexts) {
  script().num_devices = 3;
  const StatusOr<std::vector<CudaDevice>> devices = ListCudaDevices(cuda_);
  ASSERT_TRUE(devices.ok());
  ASSERT_EQ(devices->size(), 3);
  EXPECT_EQ((*devices)[2].ordinal, 2);
  EXPECT_EQ((*devices)[0].total, GiB(1));
  EXPECT_NE((*devices)[0].default_pool, (*devices)[1].default_pool);
  EXPECT_EQ(seen().contexts, 0);
  EXPECT_EQ(CudaDriverVersion(cuda_), "13.0");
}

TEST(CudaResultTest, ErrorsKeepTheirMeaningThereAndBack) {
  for (StatusCode code : {StatusCode::kOk, StatusCode::kOutOfMemory, StatusCode::kNotReady, StatusCode::kNotSupported,
                          StatusCode::kInvalidArgument, StatusCode::kDriverError}) {
    EXPECT_EQ(ToStatusCode(static_cast<CUresult>(ToCudaResult(code))), code) << ToString(code);
  }
}

}  // namespace
}  // namespace gmlake
