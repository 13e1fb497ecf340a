// Who may touch what: access by device, peers, ranges of allocations, and what the driver refuses to share.
#include <cstring>
#include <vector>

#include "cc/emulator/conformance/emulated.h"

namespace gmlake::conformance {
namespace {

class AccessRulesTest : public RuleTest {};

CUdeviceptr MapOn(int device, bool open) {
  const CUdeviceptr at = MustReserve(kGranule);
  GMLAKE_MUST(Map(at, kGranule, MustCreate(kGranule, device)));
  if (open) GMLAKE_MUST(SetAccess(at, kGranule, device));
  return at;
}

CUresult Fill(CUdeviceptr at, size_t size) { return GMLAKE_CALL(cuMemsetD8)(at, 1, size); }

// What a collective of two devices does with a buffer, as the emulated NCCL tells the driver.
void Collective(CUdeviceptr at, size_t size) {
  void* const buffer = reinterpret_cast<void*>(at);
  GMLAKE_CALL(gmlake_emulator_collective)(buffer, size, buffer, size, 2, nullptr);
}

TEST_F(AccessRulesTest, AMappingThatWasOpenedMayBeTouched) { EXPECT_EQ(Fill(MapOn(0, true), kGranule), CUDA_SUCCESS); }

TEST_F(AccessRulesTest, AMappingThatWasNotOpenedMayNot) {
  EXPECT_EQ(Fill(MapOn(0, false), kGranule), CUDA_ERROR_INVALID_VALUE);
  ExpectBroken("access");
}

TEST_F(AccessRulesTest, OneCallMayReachOverSeveralMappings) {
  Pair pair;
  EXPECT_EQ(Fill(pair.at, 2 * kGranule), CUDA_SUCCESS);
}

TEST_F(AccessRulesTest, ACallMayNotReachBeyondTheLastMapping) {
  Pair pair;
  EXPECT_EQ(Fill(pair.at, 3 * kGranule), CUDA_ERROR_INVALID_VALUE);
  ExpectBroken("access");
}

TEST_F(AccessRulesTest, AccessIsSetOverWholeMappingsOnly) {
  Pair pair;
  EXPECT_EQ(SetAccess(pair.at, kGranule), CUDA_SUCCESS);
  EXPECT_EQ(SetAccess(pair.at, kGranule / 2), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(SetAccess(pair.at, 3 * kGranule), CUDA_ERROR_INVALID_VALUE);
  ExpectBroken("access", 2);
}

TEST_F(AccessRulesTest, APeerMayTouchWhatWasOpenedToIt) {
  const CUdeviceptr at = MapOn(1, true);
  GMLAKE_MUST(SetAccess(at, kGranule, 0));
  EXPECT_EQ(Fill(at, kGranule), CUDA_SUCCESS);
  Collective(at, kGranule);
}

TEST_F(AccessRulesTest, APeerMayNotTouchWhatWasOpenedToTheOwnerAlone) {
  const CUdeviceptr at = MapOn(1, true);
  EXPECT_EQ(Fill(at, kGranule), CUDA_ERROR_INVALID_VALUE);
  ExpectBroken("access");
}

TEST_F(AccessRulesTest, ACollectiveNeedsAccessOfEveryDevice) {
  Collective(MapOn(0, true), kGranule);
  ExpectBroken("access");
}

TEST_F(AccessRulesTest, EnablingAPeerDoesNotOpenMappings) {
  CUcontext one;
  GMLAKE_MUST(GMLAKE_CALL(cuDevicePrimaryCtxRetain)(&one, 1));
  const CUresult enabled = GMLAKE_CALL(cuCtxEnablePeerAccess)(one, 0);
  ASSERT_TRUE(enabled == CUDA_SUCCESS || enabled == CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED);
  EXPECT_EQ(Fill(MapOn(1, true), kGranule), CUDA_ERROR_INVALID_VALUE);
  ExpectBroken("access");
}

TEST_F(AccessRulesTest, ACopyBetweenPeersNeedsNoAccessToTheOther) {
  CUcontext zero, one;
  GMLAKE_MUST(GMLAKE_CALL(cuDevicePrimaryCtxRetain)(&zero, 0));
  GMLAKE_MUST(GMLAKE_CALL(cuDevicePrimaryCtxRetain)(&one, 1));
  const CUdeviceptr here = MapOn(0, true), there = MapOn(1, true);
  GMLAKE_MUST(GMLAKE_CALL(cuMemsetD8)(here, 42, kGranule));
  EXPECT_EQ(GMLAKE_CALL(cuMemcpyPeer)(there, one, here, zero, kGranule), CUDA_SUCCESS);
  unsigned char last = 0;
  GMLAKE_MUST(GMLAKE_CALL(cuMemcpyPeer)(here, zero, there + kGranule - 1, one, 1));
  GMLAKE_MUST(GMLAKE_CALL(cuMemcpyDtoH)(&last, here, 1));
  EXPECT_EQ(last, 42);
}

TEST_F(AccessRulesTest, AnAllocationMayBeTouchedUpToItsEnd) {
  CUdeviceptr at = 0;
  GMLAKE_MUST(GMLAKE_CALL(cuMemAlloc)(&at, 1000));
  EXPECT_EQ(Fill(at + 500, 500), CUDA_SUCCESS);
  GMLAKE_MUST(GMLAKE_CALL(cuMemFree)(at));
}

TEST_F(AccessRulesTest, AnAllocationMayNotBeTouchedPastItsEnd) {
  CUdeviceptr at = 0;
  GMLAKE_MUST(GMLAKE_CALL(cuMemAlloc)(&at, 1000));
  EXPECT_EQ(Fill(at + 500, 501), CUDA_ERROR_INVALID_VALUE);
  ExpectBroken("overrun");
  GMLAKE_MUST(GMLAKE_CALL(cuMemFree)(at));
}

TEST_F(AccessRulesTest, FreedMemoryMayNotBeTouched) {
  CUdeviceptr at = 0;
  GMLAKE_MUST(GMLAKE_CALL(cuMemAlloc)(&at, 1000));
  GMLAKE_MUST(GMLAKE_CALL(cuMemFree)(at));
  EXPECT_EQ(Fill(at, 1), CUDA_ERROR_INVALID_VALUE);
  ExpectBroken("use-after-free");
}

TEST_F(AccessRulesTest, MemoryIsFreedOnce) {
  CUdeviceptr plain = 0, pooled = 0;
  GMLAKE_MUST(GMLAKE_CALL(cuMemAlloc)(&plain, 1000));
  EXPECT_EQ(GMLAKE_CALL(cuMemFree)(plain), CUDA_SUCCESS);
  EXPECT_EQ(GMLAKE_CALL(cuMemFree)(plain), CUDA_ERROR_INVALID_VALUE);
  GMLAKE_MUST(GMLAKE_CALL(cuMemAllocAsync)(&pooled, 1000, nullptr));
  EXPECT_EQ(GMLAKE_CALL(cuMemFreeAsync)(pooled, nullptr), CUDA_SUCCESS);
  EXPECT_EQ(GMLAKE_CALL(cuMemFreeAsync)(pooled, nullptr), CUDA_ERROR_INVALID_VALUE);
  ExpectBroken("free", 2);
}

TEST_F(AccessRulesTest, PoolMemoryIsOpenToAPeerOnlyWhenThePoolIs) {
  CUmemoryPool pool = nullptr;
  GMLAKE_MUST(GMLAKE_CALL(cuDeviceGetDefaultMemPool)(&pool, 1));
  CUdeviceptr at = 0;
  GMLAKE_MUST(GMLAKE_CALL(cuMemAllocFromPoolAsync)(&at, 1000, pool, nullptr));
  EXPECT_EQ(Fill(at, 1000), CUDA_ERROR_INVALID_VALUE);
  ExpectBroken("access");
  const CUmemAccessDesc access = AccessOf(0);
  GMLAKE_MUST(GMLAKE_CALL(cuMemPoolSetAccess)(pool, &access, 1));
  EXPECT_EQ(Fill(at, 1000), CUDA_SUCCESS);
  GMLAKE_MUST(GMLAKE_CALL(cuMemFreeAsync)(at, nullptr));
}

TEST_F(AccessRulesTest, NothingIsSharedWithOtherProcesses) {
  Pair pair;
  CUipcMemHandle ipc;
  EXPECT_EQ(GMLAKE_CALL(cuIpcGetMemHandle)(&ipc, pair.at), CUDA_ERROR_INVALID_VALUE);
  int descriptor = -1;
  EXPECT_NE(
      GMLAKE_CALL(cuMemExportToShareableHandle)(&descriptor, pair.first, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0),
      CUDA_SUCCESS);
}

// The attribute promises fabric handles, the call refuses them, as on a machine whose GPUs are in no fabric.
TEST_F(AccessRulesTest, FabricHandlesArePromisedAndRefused) {
  int promised = 0;
  GMLAKE_MUST(GMLAKE_CALL(cuDeviceGetAttribute)(&promised, CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_FABRIC_SUPPORTED, 0));
  EXPECT_EQ(promised, 1);
  CUmemAllocationProp prop = Pinned(0);
  CUmemGenericAllocationHandle handle = 0;
  prop.requestedHandleTypes = CU_MEM_HANDLE_TYPE_FABRIC;
  EXPECT_EQ(GMLAKE_CALL(cuMemCreate)(&handle, kGranule, &prop, 0), CUDA_ERROR_NOT_PERMITTED);
  prop.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
  EXPECT_EQ(GMLAKE_CALL(cuMemCreate)(&handle, kGranule, &prop, 0), CUDA_SUCCESS);
  GMLAKE_MUST(Release(handle));
}

}  // namespace
}  // namespace gmlake::conformance

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  gmlake::conformance::StartEmulator(/*async=*/false, /*delay_us=*/0);
  return RUN_ALL_TESTS();
}
