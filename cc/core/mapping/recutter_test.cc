#include "cc/core/mapping/recutter.h"

#include <vector>

#include "cc/core/mapping/grower.h"
#include "cc/core/mapping/reclaimer.h"
#include "cc/core/mapping/stream_order.h"
#include "cc/core/ranges/memory.h"
#include "cc/driver/fake_driver.h"
#include "gtest/gtest.h"

namespace gmlake {
namespace {

// Two free blocks of 16 MiB; the first is also mapped in a stitched range.
class RecutterTest : public testing::Test {
 protected:
  RecutterTest() {
    for (int i = 0; i < 2; ++i) {
      Fill fill{{{memory_.space.holes().empty() ? kNone : memory_.space.holes()[0],
                  memory_.space.holes().empty() ? Address() : memory_.chunks[memory_.space.holes()[0]].address,
                  MiB(16),
                  {MiB(16)}}}};
      EXPECT_TRUE(grower_.Create(&fill, nullptr).ok());
    }
    memory_.blocks.ForEach([this](BlockId id) { blocks_.push_back(id); });
    const Address base = *driver_.Reserve(MiB(16));
    EXPECT_TRUE(driver_.Map(base, MiB(16), memory_.blocks[blocks_[0]].handle).ok());
    range_ = memory_.ranges.Add(base, MiB(16), {blocks_[0]});
  }

  FakeDriver driver_{GiB(4)};
  Recorder recorder_;
  InventoryLog log_{&recorder_};
  CountingDriver counting_{&driver_, &log_};
  Memory memory_{MiB(2), {}, {/*per_total=*/0, /*least=*/MiB(64)}};
  StreamOrder order_{&driver_};
  Reclaimer reclaimer_{&counting_, &memory_, &order_};
  Grower grower_{&driver_, &memory_};
  Recutter recutter_{&driver_, &memory_, &order_, &reclaimer_};
  std::vector<BlockId> blocks_;
  RangeId range_ = kNone;
};

TEST_F(RecutterTest, TakesTheBlockThatCostsTheFewestMappings) {
  const Address home = memory_.blocks[blocks_[1]].home;
  EXPECT_EQ(recutter_.Recut(MiB(16), MiB(6), {}, kNone), home);
  EXPECT_EQ(memory_.blocks[memory_.blocks.At(home)].size, MiB(6));
  EXPECT_EQ(memory_.blocks[memory_.blocks.At(home + MiB(6))].size, MiB(10));
}

TEST_F(RecutterTest, TakesNoneThatIsInUseOtherwise) {
  const Address home = memory_.blocks[blocks_[0]].home;
  EXPECT_EQ(recutter_.Recut(MiB(16), MiB(6), {blocks_[1]}, kNone), home);
}

// The range that is about to be extended would not be the same afterwards.
TEST_F(RecutterTest, TakesNoneOfTheRangeThatIsSpared) {
  EXPECT_TRUE(recutter_.Recut(MiB(16), MiB(6), {blocks_[1]}, range_).is_null());
  EXPECT_EQ(driver_.num_blocks(), 2);
}

}  // namespace
}  // namespace gmlake
