#include "cc/base/bytes.h"

#include <gtest/gtest.h>

namespace gmlake {
namespace {

TEST(BytesTest, AlignsUpToUnitsThatAreNoPowerOfTwo) {
  EXPECT_EQ(AlignUp(Bytes(1), MiB(2)), MiB(2));
  EXPECT_EQ(AlignUp(MiB(2), MiB(2)), MiB(2));
  EXPECT_EQ(AlignUp(Bytes(7), Bytes(3)), Bytes(9));
}

TEST(BytesTest, AlignsDown) {
  EXPECT_EQ(AlignDown(MiB(5), MiB(2)), MiB(4));
  EXPECT_EQ(AlignDown(MiB(4), MiB(2)), MiB(4));
}

TEST(BytesTest, FindsThePowerOfTwoBelow) {
  EXPECT_EQ(PowerOfTwoFloor(Bytes(1)), Bytes(1));
  EXPECT_EQ(PowerOfTwoFloor(MiB(5)), MiB(4));
  EXPECT_EQ(PowerOfTwoFloor(GiB(64)), GiB(64));
}

TEST(BytesTest, PrintsHumaneUnits) {
  EXPECT_EQ(ToString(Bytes(512)), "512 B");
  EXPECT_EQ(ToString(Bytes(1536)), "1.5 KiB");
  EXPECT_EQ(ToString(GiB(3)), "3.0 GiB");
  EXPECT_EQ(ToString(MiB(1024) - Bytes(1)), "1.0 GiB");
  EXPECT_EQ(ToString(MiB(-2)), "-2.0 MiB");
  EXPECT_EQ(ToString(Bytes(INT64_MIN)), "-8388608.0 TiB");
}

TEST(AddressTest, DiffersByBytes) {
  const Address base(0x1000);
  EXPECT_EQ((base + KiB(4)) - base, KiB(4));
  EXPECT_EQ(base + KiB(4) - KiB(4), base);
  EXPECT_TRUE(Address().is_null());
}

}  // namespace
}  // namespace gmlake
