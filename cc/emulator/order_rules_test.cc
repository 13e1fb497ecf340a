// Rules of order, on streams that are threads: nothing may be taken away under work that is still queued.
#include <future>
#include <utility>
#include <vector>

#include "cc/emulator/conformance/emulated.h"

// Some programs here race on purpose. ThreadSanitizer, which sees the emulated device do as it is told, shall look
// away.
extern "C" __attribute__((visibility("default"))) const char* __tsan_default_suppressions() {
  return "race:gmlake::emulator::FillOperation\n";
}

namespace gmlake::conformance {
namespace {

CUstream NewStream() {
  CUstream stream = nullptr;
  GMLAKE_MUST(GMLAKE_CALL(cuStreamCreate)(&stream, CU_STREAM_NON_BLOCKING));
  return stream;
}

void FillLater(CUdeviceptr at, size_t size, CUstream stream) {
  GMLAKE_MUST(GMLAKE_CALL(cuMemsetD8Async)(at, 7, size, stream));
}

void Synchronize(CUstream stream) { GMLAKE_MUST(GMLAKE_CALL(cuStreamSynchronize)(stream)); }

CUdeviceptr PoolMemory(CUstream stream, size_t size = 4096) {
  CUdeviceptr at = 0;
  GMLAKE_MUST(GMLAKE_CALL(cuMemAllocAsync)(&at, size, stream));
  return at;
}

// Holds a stream's work back until it is opened, or goes.
class Gate {
 public:
  explicit Gate(CUstream stream) {
    GMLAKE_MUST(GMLAKE_CALL(cuLaunchHostFunc)(stream, [](void* gate) { static_cast<Gate*>(gate)->Pass(); }, this));
  }
  ~Gate() {
    Open();
    passed_.get_future().wait();
  }
  void Open() {
    if (!std::exchange(is_open_, true)) open_.set_value();
  }

 private:
  void Pass() {
    open_.get_future().wait();
    passed_.set_value();
  }

  bool is_open_ = false;
  std::promise<void> open_, passed_;
};

class OrderRulesTest : public RuleTest {
 protected:
  void TearDown() override {
    GMLAKE_MUST(GMLAKE_CALL(cuCtxSynchronize)());
    for (CUevent event : events_) GMLAKE_MUST(GMLAKE_CALL(cuEventDestroy)(event));
    RuleTest::TearDown();
  }

  CUevent NewEvent() {
    events_.emplace_back();
    GMLAKE_MUST(GMLAKE_CALL(cuEventCreate)(&events_.back(), CU_EVENT_DISABLE_TIMING));
    return events_.back();
  }
  CUevent RecordOn(CUstream stream) {
    const CUevent event = NewEvent();
    GMLAKE_MUST(GMLAKE_CALL(cuEventRecord)(event, stream));
    return event;
  }

  CUstream stream_ = NewStream();
  CUstream other_ = NewStream();
  std::vector<CUevent> events_;
};

TEST_F(OrderRulesTest, WorkIsQueuedAndRunsLater) {
  Pair pair;
  Gate gate(stream_);
  FillLater(pair.at, kGranule, stream_);
  EXPECT_EQ(GMLAKE_CALL(cuStreamQuery)(stream_), CUDA_ERROR_NOT_READY);
  gate.Open();
  Synchronize(stream_);
  EXPECT_EQ(GMLAKE_CALL(cuStreamQuery)(stream_), CUDA_SUCCESS);
}

TEST_F(OrderRulesTest, UnmappingAfterTheWorkIsFine) {
  Pair pair;
  FillLater(pair.at, kGranule, stream_);
  const CUevent event = RecordOn(stream_);
  GMLAKE_MUST(GMLAKE_CALL(cuEventSynchronize)(event));
  GMLAKE_MUST(Unmap(pair.at, 2 * kGranule));
}

TEST_F(OrderRulesTest, UnmappingUnderQueuedWorkIsNot) {
  Pair pair;
  Gate gate(stream_);
  FillLater(pair.at, kGranule, stream_);
  GMLAKE_MUST(Unmap(pair.at, 2 * kGranule));  // the driver does not wait, and does not refuse
  EXPECT_EQ(Broken("unmap-in-use"), 1) << Described();
  gate.Open();
  Synchronize(stream_);
  EXPECT_EQ(Broken("access"), 1) << Described();  // the work found nothing mapped
  GMLAKE_CALL(gmlake_emulator_reset_violations)();
}

TEST_F(OrderRulesTest, UnmappingAnAliasThatNoQueuedWorkTouchesIsFine) {
  Pair pair;
  const CUdeviceptr alias = MustReserve(kGranule);
  GMLAKE_MUST(Map(alias, kGranule, pair.first));
  GMLAKE_MUST(SetAccess(alias, kGranule));
  Gate gate(stream_);
  FillLater(pair.at, kGranule, stream_);
  GMLAKE_MUST(Unmap(alias, kGranule));
  gate.Open();
}

// The mistake of a program that never recorded the event it asks: CUDA says "complete".
TEST_F(OrderRulesTest, AnEventThatWasNeverRecordedProvesNothing) {
  Pair pair;
  const CUevent event = NewEvent();
  Gate gate(stream_);
  FillLater(pair.at, kGranule, stream_);
  EXPECT_EQ(GMLAKE_CALL(cuEventQuery)(event), CUDA_SUCCESS);
  GMLAKE_MUST(Unmap(pair.at, 2 * kGranule));
  EXPECT_EQ(Broken("unmap-in-use"), 1) << Described();
  gate.Open();
  Synchronize(stream_);
  GMLAKE_CALL(gmlake_emulator_reset_violations)();
}

TEST_F(OrderRulesTest, PoolMemoryFreedInStreamOrderIsFine) {
  const CUdeviceptr at = PoolMemory(stream_);
  FillLater(at, 4096, stream_);
  GMLAKE_MUST(GMLAKE_CALL(cuMemFreeAsync)(at, stream_));
}

TEST_F(OrderRulesTest, WorkQueuedAfterTheFreeIsUseAfterFree) {
  const CUdeviceptr at = PoolMemory(stream_);
  Gate gate(stream_);
  GMLAKE_MUST(GMLAKE_CALL(cuMemFreeAsync)(at, stream_));
  FillLater(at, 4096, stream_);
  gate.Open();
  Synchronize(stream_);
  EXPECT_GE(Broken("use-after-free"), 1) << Described();
  GMLAKE_CALL(gmlake_emulator_reset_violations)();
}

TEST_F(OrderRulesTest, FreeingOnAnotherStreamNeedsAnEvent) {
  const CUdeviceptr at = PoolMemory(stream_);
  FillLater(at, 4096, stream_);
  GMLAKE_MUST(GMLAKE_CALL(cuStreamWaitEvent)(other_, RecordOn(stream_), 0));
  GMLAKE_MUST(GMLAKE_CALL(cuMemFreeAsync)(at, other_));
}

TEST_F(OrderRulesTest, FreeingOnAnotherStreamWithoutAnEventIsUseAfterFree) {
  const CUdeviceptr at = PoolMemory(stream_);
  Gate gate(stream_);
  FillLater(at, 4096, stream_);
  GMLAKE_MUST(GMLAKE_CALL(cuMemFreeAsync)(at, other_));
  Synchronize(other_);
  gate.Open();
  Synchronize(stream_);
  EXPECT_GE(Broken("use-after-free"), 1) << Described();
  GMLAKE_CALL(gmlake_emulator_reset_violations)();
}

TEST_F(OrderRulesTest, AnotherStreamMayUseAnAllocationBehindAnEvent) {
  const CUdeviceptr at = PoolMemory(stream_);
  GMLAKE_MUST(GMLAKE_CALL(cuStreamWaitEvent)(other_, RecordOn(stream_), 0));
  FillLater(at, 4096, other_);
  Synchronize(other_);
  GMLAKE_MUST(GMLAKE_CALL(cuMemFreeAsync)(at, other_));
}

TEST_F(OrderRulesTest, AnotherStreamMayNotUseAnAllocationAheadOfIt) {
  Gate gate(stream_);
  const CUdeviceptr at = PoolMemory(stream_);
  FillLater(at, 4096, other_);
  Synchronize(other_);
  gate.Open();
  EXPECT_EQ(Broken("use-before-alloc"), 1) << Described();
  GMLAKE_CALL(gmlake_emulator_reset_violations)();
}

TEST_F(OrderRulesTest, FreeingTooEarlyIsNoticed) {
  const CUdeviceptr at = PoolMemory(stream_);
  Gate gate(stream_);
  FillLater(at, 4096, stream_);
  GMLAKE_CALL(gmlake_emulator_free_too_early)(at);
  gate.Open();
  Synchronize(stream_);
  EXPECT_EQ(Broken("use-after-free"), 1) << Described();
  GMLAKE_CALL(gmlake_emulator_reset_violations)();
}

TEST_F(OrderRulesTest, StreamsAreOrderedByEventsOnly) {
  Pair pair;
  FillLater(pair.at, kGranule, stream_);
  GMLAKE_MUST(GMLAKE_CALL(cuStreamWaitEvent)(other_, RecordOn(stream_), 0));
  GMLAKE_MUST(GMLAKE_CALL(cuMemcpyDtoDAsync)(pair.at + kGranule, pair.at, kGranule, other_));
  std::vector<unsigned char> bytes(kGranule);
  GMLAKE_MUST(GMLAKE_CALL(cuMemcpyDtoHAsync)(bytes.data(), pair.at + kGranule, kGranule, other_));
  EXPECT_EQ(bytes.front(), 7);
  EXPECT_EQ(bytes.back(), 7);
}

// One for these tests together: nothing takes a pair's memory back, and the device is small.
const Pair& SharedPair() {
  static const Pair* const pair = new Pair;
  return *pair;
}

TEST_F(OrderRulesTest, CopiesThatMeetBehindAnEventAreInOrder) {
  const Pair& pair = SharedPair();
  Gate gate(stream_);
  FillLater(pair.at, 4096, stream_);
  GMLAKE_MUST(GMLAKE_CALL(cuStreamWaitEvent)(other_, RecordOn(stream_), 0));
  FillLater(pair.at, 4096, other_);
  const CUstream third = NewStream();
  GMLAKE_MUST(GMLAKE_CALL(cuStreamWaitEvent)(third, RecordOn(other_), 0));  // and so behind the first, too
  FillLater(pair.at, 4096, third);
}

TEST_F(OrderRulesTest, CopiesThatMeetWithNothingBetweenThemRace) {
  const Pair& pair = SharedPair();
  Gate gate(stream_);
  const CUevent before = RecordOn(stream_);
  FillLater(pair.at, 4096, stream_);
  GMLAKE_MUST(GMLAKE_CALL(cuStreamWaitEvent)(other_, before, 0));  // too early to help
  FillLater(pair.at + 4095, 10, other_);
  ExpectBroken("race");
}

TEST_F(OrderRulesTest, CopiesThatMeetByAnotherAddressRaceToo) {
  const Pair& pair = SharedPair();
  const CUdeviceptr alias = MustReserve(kGranule);
  GMLAKE_MUST(Map(alias, kGranule, pair.second));
  GMLAKE_MUST(SetAccess(alias, kGranule));
  Gate gate(stream_);
  FillLater(pair.at + kGranule - 1, 2, stream_);
  FillLater(alias, 1, other_);
  ExpectBroken("race");
}

TEST_F(OrderRulesTest, CopiesThatDoNotMeetNeedNoOrder) {
  const Pair& pair = SharedPair();
  Gate gate(stream_);
  FillLater(pair.at, 4096, stream_);
  FillLater(pair.at + 4096, 4096, other_);
  FillLater(pair.at + kGranule, 4096, other_);
}

TEST_F(OrderRulesTest, WhatTheHostHasWaitedForIsOver) {
  const Pair& pair = SharedPair();
  FillLater(pair.at, 4096, stream_);
  Synchronize(stream_);
  FillLater(pair.at, 4096, other_);
}

TEST_F(OrderRulesTest, PageableMemoryMayBeChangedAfterTheCopyIsQueued) {
  Pair pair;
  std::vector<unsigned char> bytes(4096, 3), back(4096);
  GMLAKE_MUST(GMLAKE_CALL(cuMemcpyHtoDAsync)(pair.at, bytes.data(), bytes.size(), stream_));
  std::fill(bytes.begin(), bytes.end(), 9);
  GMLAKE_MUST(GMLAKE_CALL(cuMemcpyDtoHAsync)(back.data(), pair.at, back.size(), stream_));
  EXPECT_EQ(back[4095], 3);
}

TEST_F(OrderRulesTest, AFullPoolWaitsForTheFreesThatAreQueued) {
  const size_t most = 192 << 20;
  const CUdeviceptr first = PoolMemory(stream_, most);
  FillLater(first, most, stream_);
  GMLAKE_MUST(GMLAKE_CALL(cuMemFreeAsync)(first, stream_));
  const CUdeviceptr second = PoolMemory(stream_, most);
  GMLAKE_MUST(GMLAKE_CALL(cuMemFreeAsync)(second, stream_));
}

TEST_F(OrderRulesTest, WorkOfADestroyedStreamStillRuns) {
  Pair pair;
  Gate gate(stream_);
  FillLater(pair.at, kGranule, stream_);
  GMLAKE_MUST(GMLAKE_CALL(cuStreamDestroy)(stream_));
  gate.Open();
  GMLAKE_MUST(GMLAKE_CALL(cuCtxSynchronize)());
  unsigned char first = 0;
  GMLAKE_MUST(GMLAKE_CALL(cuMemcpyDtoH)(&first, pair.at, 1));
  EXPECT_EQ(first, 7);
}

TEST_F(OrderRulesTest, ADestroyedStreamTakesNoWork) {
  const CUevent event = NewEvent();
  GMLAKE_MUST(GMLAKE_CALL(cuStreamDestroy)(stream_));
  EXPECT_EQ(GMLAKE_CALL(cuEventRecord)(event, stream_), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(GMLAKE_CALL(cuStreamSynchronize)(stream_), CUDA_ERROR_INVALID_HANDLE);
  ExpectBroken("handle", 2);
}

TEST_F(OrderRulesTest, AGraphIsWorkThatTouchesWhatItsNodesTouch) {
  Pair pair;
  GMLAKE_MUST(GMLAKE_CALL(cuStreamBeginCapture)(other_, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
  FillLater(pair.at, kGranule, other_);
  CUgraph graph = nullptr;
  GMLAKE_MUST(GMLAKE_CALL(cuStreamEndCapture)(other_, &graph));
  CUgraphExec executable = nullptr;
  GMLAKE_MUST(GMLAKE_CALL(cuGraphInstantiateWithFlags)(&executable, graph, 0));
  Gate gate(stream_);
  GMLAKE_MUST(GMLAKE_CALL(cuGraphLaunch)(executable, stream_));
  GMLAKE_MUST(Unmap(pair.at, 2 * kGranule));
  EXPECT_EQ(Broken("unmap-in-use"), 1) << Described();
  gate.Open();
  Synchronize(stream_);
  GMLAKE_CALL(gmlake_emulator_reset_violations)();
  GMLAKE_MUST(GMLAKE_CALL(cuGraphExecDestroy)(executable));
  GMLAKE_MUST(GMLAKE_CALL(cuGraphDestroy)(graph));
}

}  // namespace
}  // namespace gmlake::conformance

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  gmlake::conformance::StartEmulator(/*async=*/true, /*delay_us=*/0);
  return RUN_ALL_TESTS();
}
