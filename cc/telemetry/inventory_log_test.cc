#include "cc/telemetry/inventory_log.h"

#include <gtest/gtest.h>

namespace gmlake {
namespace {

constexpr Address kHome(0x10000000);

class InventoryLogTest : public testing::Test {
 protected:
  void MapBlock(uint64_t handle) {
    const Address at = kHome + MiB(2) * static_cast<int64_t>(handle);
    log_.OnCreate(handle, MiB(2));
    log_.OnMap(at, MiB(2), handle);
  }
  size_t NumMappings() const {
    Snapshot snapshot;
    log_.Read().CopyTo(&snapshot);
    return snapshot.mappings.size();
  }

  Recorder recorder_;
  InventoryLog log_{&recorder_};
};

TEST_F(InventoryLogTest, ReadingEntersEverythingInOrder) {
  log_.OnReserve(kHome, GiB(1));
  MapBlock(1);
  MapBlock(2);
  EXPECT_EQ(NumMappings(), 2);
  log_.OnUnmap(kHome + MiB(2), MiB(2));
  log_.OnRelease(1);
  EXPECT_EQ(NumMappings(), 1);
  EXPECT_EQ(log_.Read().bytes_created(), MiB(4));
  EXPECT_EQ(log_.Read().bytes_released(), MiB(2));
  log_.OnUnmap(kHome + MiB(4), MiB(2));
  log_.OnFreeAddress(kHome, GiB(1));
  EXPECT_EQ(log_.Read().RangeAt(kHome), kNoNumber);
}

TEST_F(InventoryLogTest, KeepsMoreThanARow) {
  log_.OnReserve(kHome, GiB(64));
  for (uint64_t handle = 1; handle <= 10000; ++handle) MapBlock(handle);
  EXPECT_EQ(NumMappings(), 10000);
}

TEST_F(InventoryLogTest, ARecordingBeginsWithWhatHappensAfterItsStart) {
  log_.OnReserve(kHome, GiB(1));
  MapBlock(1);
  log_.StartRecording(100);
  EXPECT_TRUE(recorder_.Read().events.empty());
  MapBlock(2);
  ASSERT_EQ(recorder_.Read().events.size(), 2) << "told at once, not when it is read";
  EXPECT_EQ(recorder_.Read().events[0].kind, EventKind::kCreate);
  EXPECT_EQ(recorder_.Read().events[1].kind, EventKind::kMap);
}

}  // namespace
}  // namespace gmlake
