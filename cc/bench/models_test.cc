// The models of other allocators: each does what its original is known for, on requests small enough to count by hand.
#include <gtest/gtest.h>

#include "cc/bench/bfc_model.h"
#include "cc/bench/uniform_model.h"
#include "cc/driver/model_driver.h"

namespace gmlake::bench {
namespace {

constexpr StreamHandle kStream{};

TEST(BfcModelTest, CannotServeWhatIsFreeInTwoPieces) {
  ModelDriver driver(GiB(4));
  BfcModel bfc(&driver, GiB(4), BfcModel::Mode::kPreallocate);
  const Address first = bfc.Allocate(GiB(1), kStream);
  bfc.Allocate(GiB(1), kStream);
  const Address third = bfc.Allocate(GiB(1), kStream);
  bfc.Allocate(GiB(1), kStream);
  bfc.Free(first, kStream);
  bfc.Free(third, kStream);
  EXPECT_TRUE(bfc.Allocate(GiB(2), kStream).is_null());
  EXPECT_EQ(bfc.Allocate(GiB(1), kStream), first);
}

TEST(BfcModelTest, HandsOutAChunkWholeUnlessMuchWouldBeLeft) {
  ModelDriver driver(MiB(4));
  BfcModel bfc(&driver, MiB(4), BfcModel::Mode::kPreallocate);
  const Address three = bfc.Allocate(MiB(3), kStream);
  EXPECT_TRUE(bfc.Allocate(Bytes(256), kStream).is_null()) << "less than half would have been left";
  bfc.Free(three, kStream);
  EXPECT_FALSE(bfc.Allocate(MiB(2), kStream).is_null());
  EXPECT_FALSE(bfc.Allocate(MiB(2), kStream).is_null());
}

TEST(BfcModelTest, DoublesItsRegions) {
  ModelDriver driver(GiB(64));
  BfcModel bfc(&driver, GiB(64), BfcModel::Mode::kGrow);
  bfc.Allocate(MiB(1), kStream);
  EXPECT_EQ(driver.memory_in_use(), MiB(2));
  bfc.Allocate(MiB(3), kStream);
  EXPECT_EQ(driver.memory_in_use(), MiB(6));
  bfc.Allocate(GiB(1), kStream);
  EXPECT_EQ(driver.memory_in_use(), MiB(6) + GiB(1));
}

TEST(BfcModelTest, BacksOffWhenTheDeviceIsSmaller) {
  ModelDriver driver(MiB(100));
  BfcModel bfc(&driver, GiB(1), BfcModel::Mode::kGrow);
  EXPECT_FALSE(bfc.Allocate(MiB(80), kStream).is_null())
      << "128 MiB are refused, but nine tenths of them, thrice over, are not";
}

TEST(UniformModelTest, StitchesWhatIsFreeInTwoPieces) {
  ModelDriver driver(MiB(40));
  UniformModel uniform(&driver, MiB(40));
  const Address first = uniform.Allocate(MiB(10), kStream);
  uniform.Allocate(MiB(10), kStream);
  const Address third = uniform.Allocate(MiB(10), kStream);
  uniform.Allocate(MiB(10), kStream);
  uniform.Free(first, kStream);
  uniform.Free(third, kStream);
  const DriverCallStats before = driver.calls();
  const Address stitched = uniform.Allocate(MiB(20), kStream);
  EXPECT_EQ(driver.Resolve(stitched, MiB(20)).size(), 10u);
  EXPECT_EQ(driver.calls().map - before.map, 10);
  EXPECT_EQ(driver.calls().create, before.create);
  uniform.Free(stitched, kStream);
  EXPECT_EQ(uniform.Allocate(MiB(20), kStream), stitched) << "kept for the same size";
  EXPECT_EQ(driver.calls().map - before.map, 10);
  EXPECT_EQ(driver.num_misuses(), 0) << driver.first_misuse();
}

TEST(UniformModelTest, CreatesOnlyTheDeficit) {
  ModelDriver driver(GiB(1));
  UniformModel uniform(&driver, GiB(1));
  uniform.Free(uniform.Allocate(MiB(10), kStream), kStream);
  uniform.Allocate(MiB(14), kStream);
  EXPECT_EQ(driver.memory_in_use(), MiB(14));
}

TEST(UniformModelTest, DropsOldStitchesWhenAddressesRunOver) {
  ModelDriver driver(GiB(200));
  UniformModel uniform(&driver, GiB(200));
  std::vector<Address> tenths;
  for (int i = 0; i < 20; ++i) tenths.push_back(uniform.Allocate(GiB(10), kStream));
  for (int i = 0; i < 20; i += 2) uniform.Free(tenths[i], kStream);
  for (int i = 0; i < 12; ++i) uniform.Free(uniform.Allocate(GiB(90) + MiB(2) * i, kStream), kStream);
  EXPECT_GT(driver.calls().unmap, 0);
  EXPECT_EQ(driver.num_misuses(), 0) << driver.first_misuse();
}

}  // namespace
}  // namespace gmlake::bench
