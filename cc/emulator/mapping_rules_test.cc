// The rules of reserving, creating, mapping and unmapping: each with a program that keeps it and one that breaks it.
#include "cc/emulator/conformance/emulated.h"

namespace gmlake::conformance {
namespace {

class MappingRulesTest : public RuleTest {};

TEST_F(MappingRulesTest, ABlockMayBeMappedWholeAtSeveralAddresses) {
  const auto block = MustCreate(2 * kGranule);
  for (int alias = 0; alias < 3; ++alias) {
    EXPECT_EQ(Map(MustReserve(2 * kGranule), 2 * kGranule, block), CUDA_SUCCESS);
  }
}

TEST_F(MappingRulesTest, AliasesAreTheSameMemory) {
  const auto block = MustCreate(kGranule);
  const CUdeviceptr one = MustReserve(kGranule), other = MustReserve(kGranule);
  for (const CUdeviceptr at : {one, other}) {
    GMLAKE_MUST(Map(at, kGranule, block));
    GMLAKE_MUST(SetAccess(at, kGranule));
  }
  GMLAKE_MUST(GMLAKE_CALL(cuMemsetD32)(one, 0xABCD1234, kGranule / 4));
  unsigned last = 0;
  GMLAKE_MUST(GMLAKE_CALL(cuMemcpyDtoH)(&last, other + kGranule - 4, 4));
  EXPECT_EQ(last, 0xABCD1234);
}

TEST_F(MappingRulesTest, AnOffsetIsRefused) {
  const auto block = MustCreate(2 * kGranule);
  EXPECT_EQ(Map(MustReserve(kGranule), kGranule, block, kGranule), CUDA_ERROR_NOT_SUPPORTED);
  ExpectBroken("map");
}

TEST_F(MappingRulesTest, APartOfABlockIsRefused) {
  const auto block = MustCreate(2 * kGranule);
  EXPECT_EQ(Map(MustReserve(kGranule), kGranule, block), CUDA_ERROR_NOT_SUPPORTED);
  ExpectBroken("map");
}

TEST_F(MappingRulesTest, MappingOverAMappingIsRefused) {
  Pair pair;
  EXPECT_EQ(Map(pair.at + kGranule, kGranule, pair.first), CUDA_ERROR_INVALID_VALUE);
  ExpectBroken("map");
}

TEST_F(MappingRulesTest, MappingOutsideAReservationIsRefused) {
  EXPECT_EQ(Map(CUdeviceptr{1} << 45, kGranule, MustCreate(kGranule)), CUDA_ERROR_INVALID_VALUE);
  ExpectBroken("map");
}

TEST_F(MappingRulesTest, AReleasedBlockCannotBeMapped) {
  const auto block = MustCreate(kGranule);
  GMLAKE_MUST(Release(block));
  EXPECT_NE(Map(MustReserve(kGranule), kGranule, block), CUDA_SUCCESS);
  ExpectBroken("map");
}

TEST_F(MappingRulesTest, SeveralWholeMappingsMayBeUnmappedAtOnce) {
  Pair pair;
  EXPECT_EQ(Unmap(pair.at, 2 * kGranule), CUDA_SUCCESS);
}

TEST_F(MappingRulesTest, APartOfAMappingCannotBeUnmapped) {
  const auto block = MustCreate(2 * kGranule);
  const CUdeviceptr at = MustReserve(2 * kGranule);
  GMLAKE_MUST(Map(at, 2 * kGranule, block));
  EXPECT_EQ(Unmap(at, kGranule), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(Unmap(at + kGranule, kGranule), CUDA_ERROR_INVALID_VALUE);
  ExpectBroken("unmap", 2);
  EXPECT_EQ(Unmap(at, 2 * kGranule), CUDA_SUCCESS);
}

TEST_F(MappingRulesTest, UnreservedAddressesCannotBeUnmapped) {
  EXPECT_EQ(Unmap(CUdeviceptr{1} << 45, kGranule), CUDA_ERROR_INVALID_VALUE);
  ExpectBroken("unmap");
}

// As on an H200; the setting that refuses it: double_unmap_test.cc.
TEST_F(MappingRulesTest, UnmappingTwiceIsAcceptedAndCounted) {
  Pair pair;
  const uint64_t before = GMLAKE_CALL(gmlake_emulator_double_unmaps)();
  GMLAKE_MUST(Unmap(pair.at, 2 * kGranule));
  EXPECT_EQ(Unmap(pair.at, 2 * kGranule), CUDA_SUCCESS);
  EXPECT_EQ(GMLAKE_CALL(gmlake_emulator_double_unmaps)(), before + 1);
}

TEST_F(MappingRulesTest, ABlockIsReleasedOnce) {
  const auto block = MustCreate(kGranule);
  EXPECT_EQ(Release(block), CUDA_SUCCESS);
  EXPECT_EQ(Release(block), CUDA_ERROR_INVALID_VALUE);
  ExpectBroken("release");
}

TEST_F(MappingRulesTest, MemoryGoesBackWithTheLastHandleAndTheLastMapping) {
  const size_t before = GMLAKE_CALL(gmlake_emulator_used)(0);
  Pair pair;
  GMLAKE_MUST(Release(pair.first));
  EXPECT_EQ(GMLAKE_CALL(gmlake_emulator_used)(0), before + 2 * kGranule);
  GMLAKE_MUST(Unmap(pair.at, 2 * kGranule));
  EXPECT_EQ(GMLAKE_CALL(gmlake_emulator_used)(0), before + kGranule);
  GMLAKE_MUST(Release(pair.second));
  EXPECT_EQ(GMLAKE_CALL(gmlake_emulator_used)(0), before);
}

TEST_F(MappingRulesTest, AHandleFetchedFromAnAddressMustBeReleasedToo) {
  const size_t before = GMLAKE_CALL(gmlake_emulator_used)(0);
  Pair pair;
  CUmemGenericAllocationHandle fetched = 0;
  GMLAKE_MUST(GMLAKE_CALL(cuMemRetainAllocationHandle)(&fetched, reinterpret_cast<void*>(pair.at + 4096)));
  EXPECT_EQ(fetched, pair.first);
  GMLAKE_MUST(Unmap(pair.at, 2 * kGranule));
  GMLAKE_MUST(Release(pair.first));
  GMLAKE_MUST(Release(pair.second));
  EXPECT_EQ(GMLAKE_CALL(gmlake_emulator_used)(0), before + kGranule);
  GMLAKE_MUST(Release(fetched));
  EXPECT_EQ(GMLAKE_CALL(gmlake_emulator_used)(0), before);
}

TEST_F(MappingRulesTest, MemoryThatComesBackIsZeroWhenItIsHandedOutAgain) {
  for (int round = 0; round < 2; ++round) {
    const auto block = MustCreate(kGranule);
    const CUdeviceptr at = MustReserve(kGranule);
    GMLAKE_MUST(Map(at, kGranule, block));
    GMLAKE_MUST(SetAccess(at, kGranule));
    unsigned char first = 99;
    GMLAKE_MUST(GMLAKE_CALL(cuMemcpyDtoH)(&first, at, 1));
    EXPECT_EQ(first, 0);
    GMLAKE_MUST(GMLAKE_CALL(cuMemsetD8)(at, 7, kGranule));
    GMLAKE_MUST(Unmap(at, kGranule));
    GMLAKE_MUST(Release(block));
  }
}

TEST_F(MappingRulesTest, ABlockOfScatteredGranulesIsContiguousWhereItIsMapped) {
  CUmemGenericAllocationHandle all[128], large = 0;
  for (auto& handle : all) handle = 0;
  int count = 0;
  while (Create(&all[count], kGranule) == CUDA_SUCCESS) ++count;
  for (int i = 0; i < count; i += 2) GMLAKE_MUST(Release(all[i]));
  const size_t size = count / 2 * kGranule;
  ASSERT_EQ(Create(&large, size), CUDA_SUCCESS);
  const CUdeviceptr at = MustReserve(size);
  GMLAKE_MUST(Map(at, size, large));
  GMLAKE_MUST(SetAccess(at, size));
  EXPECT_EQ(GMLAKE_CALL(cuMemsetD8)(at, 7, size), CUDA_SUCCESS);
  GMLAKE_MUST(Unmap(at, size));
  GMLAKE_MUST(Release(large));
  for (int i = 1; i < count; i += 2) GMLAKE_MUST(Release(all[i]));
}

TEST_F(MappingRulesTest, MoreThanTheDeviceHasIsOutOfMemory) {
  CUmemGenericAllocationHandle handle = 0;
  EXPECT_EQ(Create(&handle, size_t{1} << 30), CUDA_ERROR_OUT_OF_MEMORY);
}

TEST_F(MappingRulesTest, AReservationIsGivenBackWholeAndUnmapped) {
  Pair pair;
  GMLAKE_MUST(Unmap(pair.at, 2 * kGranule));
  EXPECT_EQ(FreeAddress(pair.at, 4 * kGranule), CUDA_SUCCESS);
}

TEST_F(MappingRulesTest, AReservationCannotBeGivenBackInPartsOrWhileMapped) {
  Pair pair;
  EXPECT_EQ(FreeAddress(pair.at, 2 * kGranule), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(FreeAddress(pair.at, 4 * kGranule), CUDA_ERROR_INVALID_VALUE);
  ExpectBroken("reservation", 2);
}

TEST_F(MappingRulesTest, TouchingAnUnmappedAddressFaults) {
  const CUdeviceptr at = MustReserve(kGranule);
  EXPECT_DEATH(*reinterpret_cast<volatile char*>(at) = 1, "");
}

}  // namespace
}  // namespace gmlake::conformance

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  testing::GTEST_FLAG(death_test_style) = "fast";
  gmlake::conformance::StartEmulator(/*async=*/false, /*delay_us=*/0);
  return RUN_ALL_TESTS();
}
