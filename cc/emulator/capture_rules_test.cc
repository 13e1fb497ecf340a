// What may happen while a stream is being captured. All modes and calls: conformance/capture_questions.cc.
#include <thread>

#include "cc/emulator/conformance/emulated.h"

namespace gmlake::conformance {
namespace {

class CaptureRulesTest : public RuleTest {
 protected:
  void SetUp() override {
    RuleTest::SetUp();
    GMLAKE_MUST(GMLAKE_CALL(cuStreamCreate)(&stream_, CU_STREAM_NON_BLOCKING));
    GMLAKE_MUST(GMLAKE_CALL(cuStreamCreate)(&other_, CU_STREAM_NON_BLOCKING));
    GMLAKE_MUST(GMLAKE_CALL(cuEventCreate)(&event_, CU_EVENT_DISABLE_TIMING));
  }

  void TearDown() override {
    if (graph_ != nullptr) GMLAKE_MUST(GMLAKE_CALL(cuGraphDestroy)(graph_));
    if (executable_ != nullptr) GMLAKE_MUST(GMLAKE_CALL(cuGraphExecDestroy)(executable_));
    GMLAKE_MUST(GMLAKE_CALL(cuEventDestroy)(event_));
    RuleTest::TearDown();
  }

  void Begin(CUstreamCaptureMode mode) { GMLAKE_MUST(GMLAKE_CALL(cuStreamBeginCapture)(stream_, mode)); }
  CUresult End() { return GMLAKE_CALL(cuStreamEndCapture)(stream_, &graph_); }
  size_t CountNodes() {
    size_t count = 0;
    GMLAKE_MUST(GMLAKE_CALL(cuGraphGetNodes)(graph_, nullptr, &count));
    return count;
  }
  CUresult FillLater(CUstream stream) { return GMLAKE_CALL(cuMemsetD8Async)(pair_.at, 7, 100, stream); }

  Pair pair_;
  CUstream stream_ = nullptr, other_ = nullptr;
  CUevent event_ = nullptr;
  CUgraph graph_ = nullptr;
  CUgraphExec executable_ = nullptr;
};

TEST_F(CaptureRulesTest, CapturedWorkRunsWhenTheGraphIsLaunched) {
  Begin(CU_STREAM_CAPTURE_MODE_GLOBAL);
  GMLAKE_MUST(FillLater(stream_));
  ASSERT_EQ(End(), CUDA_SUCCESS);
  unsigned char first = 99;
  GMLAKE_MUST(GMLAKE_CALL(cuMemcpyDtoH)(&first, pair_.at, 1));
  EXPECT_EQ(first, 0);
  GMLAKE_MUST(GMLAKE_CALL(cuGraphInstantiateWithFlags)(&executable_, graph_, 0));
  GMLAKE_MUST(GMLAKE_CALL(cuGraphLaunch)(executable_, stream_));
  GMLAKE_MUST(GMLAKE_CALL(cuMemcpyDtoH)(&first, pair_.at, 1));
  EXPECT_EQ(first, 7);
}

TEST_F(CaptureRulesTest, AStreamThatWaitsForACapturedEventJoinsTheCapture) {
  Begin(CU_STREAM_CAPTURE_MODE_GLOBAL);
  GMLAKE_MUST(GMLAKE_CALL(cuEventRecord)(event_, stream_));
  GMLAKE_MUST(GMLAKE_CALL(cuStreamWaitEvent)(other_, event_, 0));
  GMLAKE_MUST(FillLater(other_));
  ASSERT_EQ(End(), CUDA_SUCCESS);
  EXPECT_EQ(CountNodes(), 1);
  GMLAKE_MUST(GMLAKE_CALL(cuStreamSynchronize)(other_));
}

TEST_F(CaptureRulesTest, MappingIsAllowedDuringACapture) {
  Begin(CU_STREAM_CAPTURE_MODE_GLOBAL);
  Pair made_meanwhile;
  EXPECT_EQ(Unmap(made_meanwhile.at, 2 * kGranule), CUDA_SUCCESS);
  EXPECT_EQ(End(), CUDA_SUCCESS);
}

TEST_F(CaptureRulesTest, AllocatingIsForbiddenAndSpoilsTheCapture) {
  Begin(CU_STREAM_CAPTURE_MODE_GLOBAL);
  CUdeviceptr at = 0;
  EXPECT_EQ(GMLAKE_CALL(cuMemAlloc)(&at, 100), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  EXPECT_EQ(End(), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  ExpectBroken("capture");
}

TEST_F(CaptureRulesTest, InRelaxedModeAllocatingIsAllowed) {
  Begin(CU_STREAM_CAPTURE_MODE_RELAXED);
  CUdeviceptr at = 0;
  EXPECT_EQ(GMLAKE_CALL(cuMemAlloc)(&at, 100), CUDA_SUCCESS);
  EXPECT_EQ(End(), CUDA_SUCCESS);
  GMLAKE_MUST(GMLAKE_CALL(cuMemFree)(at));
}

TEST_F(CaptureRulesTest, AThreadLocalCaptureDoesNotBindOtherThreads) {
  Begin(CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
  CUdeviceptr at = 0;
  CUresult allocated = CUDA_ERROR_UNKNOWN;
  std::thread([&] { allocated = GMLAKE_CALL(cuMemAlloc)(&at, 100); }).join();
  EXPECT_EQ(allocated, CUDA_SUCCESS);
  EXPECT_EQ(End(), CUDA_SUCCESS);
  GMLAKE_MUST(GMLAKE_CALL(cuMemFree)(at));
}

TEST_F(CaptureRulesTest, AGlobalCaptureBindsEveryThread) {
  Begin(CU_STREAM_CAPTURE_MODE_GLOBAL);
  CUresult allocated = CUDA_SUCCESS;
  std::thread([&] {
    CUdeviceptr at;
    allocated = GMLAKE_CALL(cuMemAlloc)(&at, 100);
  }).join();
  EXPECT_EQ(allocated, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  End();
  ExpectBroken("capture");
}

TEST_F(CaptureRulesTest, AThreadInRelaxedModeMayDoAsItLikes) {
  Begin(CU_STREAM_CAPTURE_MODE_GLOBAL);
  CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
  GMLAKE_MUST(GMLAKE_CALL(cuThreadExchangeStreamCaptureMode)(&mode));
  EXPECT_EQ(mode, CU_STREAM_CAPTURE_MODE_GLOBAL);
  CUdeviceptr at = 0;
  EXPECT_EQ(GMLAKE_CALL(cuMemAlloc)(&at, 100), CUDA_SUCCESS);
  GMLAKE_MUST(GMLAKE_CALL(cuThreadExchangeStreamCaptureMode)(&mode));
  EXPECT_EQ(End(), CUDA_SUCCESS);
  GMLAKE_MUST(GMLAKE_CALL(cuMemFree)(at));
}

TEST_F(CaptureRulesTest, ACapturedStreamCannotBeWaitedFor) {
  Begin(CU_STREAM_CAPTURE_MODE_RELAXED);
  EXPECT_EQ(GMLAKE_CALL(cuStreamSynchronize)(stream_), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  End();
  ExpectBroken("capture");
}

TEST_F(CaptureRulesTest, ACapturedEventCannotBeAsked) {
  Begin(CU_STREAM_CAPTURE_MODE_RELAXED);
  GMLAKE_MUST(GMLAKE_CALL(cuEventRecord)(event_, stream_));
  EXPECT_EQ(GMLAKE_CALL(cuEventQuery)(event_), CUDA_ERROR_CAPTURED_EVENT);
  End();
  ExpectBroken("capture");
}

}  // namespace
}  // namespace gmlake::conformance

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  gmlake::conformance::StartEmulator(/*async=*/false, /*delay_us=*/0);
  return RUN_ALL_TESTS();
}
