#include "cc/core/mapping/grower.h"

#include <string>
#include <vector>

#include "cc/core/ranges/memory.h"
#include "cc/driver/fake_driver.h"
#include "gtest/gtest.h"

namespace gmlake {
namespace {

// A primitive range of 64 MiB in which every other 8 MiB are held: four holes, and no addresses for another range.
class GrowerTest : public testing::Test {
 protected:
  GrowerTest() {
    Fill first = *grower_.PlanAnywhere(MiB(8), /*scattered=*/false, input_);
    EXPECT_TRUE(grower_.Create(&first, nullptr).ok());
    const Address base = memory_.blocks.ranges()[0].base;
    for (int i = 1; i < 4; ++i) {
      const Address at = base + MiB(16) * i;
      Fill fill{{{memory_.HoleAt(at), at, MiB(8), {MiB(8)}}}};
      EXPECT_TRUE(grower_.Create(&fill, nullptr).ok());
    }
  }
  ~GrowerTest() override { EXPECT_EQ(driver_.violations(), std::vector<std::string>()); }

  FakeDriver driver_{GiB(1)};
  Memory memory_{MiB(2), {}, {/*per_total=*/0, /*least=*/MiB(66), /*budget=*/MiB(140)}};
  Grower grower_{&driver_, &memory_};
  GrowthInput input_{MiB(2), Bytes(0), GiB(1), GiB(1), Bytes(0), MiB(20), {}};
};

TEST_F(GrowerTest, WhatLiesSideBySideNeedsALongHole) {
  EXPECT_TRUE(grower_.Contiguous(MiB(16)).ok()) << "8 MiB are free before the hole";
  EXPECT_EQ(grower_.Contiguous(MiB(20)).status().code(), StatusCode::kOutOfMemory);
}

TEST_F(GrowerTest, WhatLiesAnywhereFillsTheHolesThatThereAre) {
  StatusOr<Fill> fill = grower_.PlanAnywhere(MiB(20), /*scattered=*/false, input_);
  ASSERT_TRUE(fill.ok());
  EXPECT_EQ(fill->parts.size(), 3u);
  ASSERT_TRUE(grower_.Create(&*fill, nullptr).ok());
  EXPECT_EQ(memory_.reserved(), MiB(32 + 20));
  EXPECT_EQ(memory_.blocks.ranges().size(), 1u);
  EXPECT_FALSE(grower_.PlanAnywhere(MiB(14), /*scattered=*/true, input_).ok()) << "12 MiB of holes are left";
  EXPECT_TRUE(grower_.PlanAnywhere(MiB(14), /*scattered=*/false, input_)->needs_range());
}

}  // namespace
}  // namespace gmlake
