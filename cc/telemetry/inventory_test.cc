#include "cc/telemetry/inventory.h"

#include <gtest/gtest.h>

namespace gmlake {
namespace {

constexpr Address kHome(0x10000000);
constexpr Address kAlias(0x50000000);
constexpr uint64_t kBlock = 7;

class InventoryTest : public testing::Test {
 protected:
  InventoryTest() { recorder_.Start(100); }

  // A block at home, and mapped a second time in a range that is larger.
  void MakeAlias() {
    inventory_.OnReserve(kHome, MiB(64));
    inventory_.OnCreate(kBlock, MiB(4));
    inventory_.OnMap(kHome, MiB(4), kBlock);
    inventory_.OnReserve(kAlias, MiB(16));
    inventory_.OnMap(kAlias, MiB(4), kBlock);
  }

  std::vector<EventKind> Kinds() const {
    std::vector<EventKind> kinds;
    for (const Event& event : recorder_.Read().events) kinds.push_back(event.kind);
    return kinds;
  }

  Snapshot Copy() const {
    Snapshot snapshot;
    inventory_.CopyTo(&snapshot);
    return snapshot;
  }

  Recorder recorder_;
  Inventory inventory_{&recorder_};
};

TEST_F(InventoryTest, TellsAStitchedRangeFromAPrimitiveOne) {
  MakeAlias();
  const Snapshot snapshot = Copy();
  ASSERT_EQ(snapshot.ranges.size(), 2);
  EXPECT_EQ(snapshot.ranges[0].is_stitched, 0);
  EXPECT_EQ(snapshot.ranges[1].is_stitched, 1);
  EXPECT_EQ(snapshot.ranges[1].address, kAlias.value());
  EXPECT_EQ(snapshot.ranges[1].size, MiB(4).count()) << "what is mapped, not what is reserved";
}

TEST_F(InventoryTest, ShowsWhoMapsWhat) {
  MakeAlias();
  const Snapshot snapshot = Copy();
  ASSERT_EQ(snapshot.blocks.size(), 1);
  ASSERT_EQ(snapshot.mappings.size(), 2);
  for (const MappingRow& mapping : snapshot.mappings) EXPECT_EQ(mapping.block, snapshot.blocks[0].id);
  EXPECT_EQ(snapshot.mappings[1].range, inventory_.RangeAt(kAlias));
  EXPECT_EQ(inventory_.RangeAt(kAlias + MiB(15)), inventory_.RangeAt(kAlias));
  EXPECT_EQ(inventory_.RangeAt(kAlias + MiB(16)), kNoNumber);
  EXPECT_EQ(inventory_.RangeAt(Address(1)), kNoNumber);
}

TEST_F(InventoryTest, TellsTheRecorderInOrder) {
  MakeAlias();
  inventory_.OnUnmap(kAlias, MiB(16));
  inventory_.OnFreeAddress(kAlias, MiB(16));
  EXPECT_EQ(Kinds(),
            (std::vector<EventKind>{EventKind::kCreate, EventKind::kReserve, EventKind::kMap, EventKind::kStitch,
                                    EventKind::kMap, EventKind::kUnmap, EventKind::kDrop}));
}

TEST_F(InventoryTest, ARangeMayLoseItsFront) {
  MakeAlias();
  inventory_.OnCreate(8, MiB(2));
  inventory_.OnMap(kHome + MiB(4), MiB(2), 8);
  inventory_.OnMap(kAlias + MiB(4), MiB(2), 8);
  const int32_t number = inventory_.RangeAt(kAlias);
  inventory_.OnUnmap(kAlias, MiB(4));
  inventory_.OnFreeAddress(kAlias, MiB(4));
  EXPECT_EQ(inventory_.RangeAt(kAlias), kNoNumber);
  EXPECT_EQ(inventory_.RangeAt(kAlias + MiB(4)), number);
  EXPECT_EQ(Copy().ranges.back().address, (kAlias + MiB(4)).value());
  EXPECT_EQ(Copy().ranges.back().size, MiB(2).count());
}

TEST_F(InventoryTest, WhatIsBehindAGapIsARangeOfItsOwnAndSoAreItsMappings) {
  MakeAlias();
  inventory_.OnMap(kAlias + MiB(8), MiB(4), kBlock);
  const int32_t number = inventory_.RangeAt(kAlias);
  inventory_.OnFreeAddress(kAlias + MiB(4), MiB(4));
  EXPECT_EQ(inventory_.RangeAt(kAlias), number);
  EXPECT_EQ(inventory_.RangeAt(kAlias + MiB(4)), kNoNumber);
  const int32_t behind = inventory_.RangeAt(kAlias + MiB(8));
  EXPECT_NE(behind, number);
  EXPECT_EQ(Copy().mappings.back().range, behind);
  const std::vector<EventKind> kinds = Kinds();
  EXPECT_EQ(std::vector<EventKind>(kinds.end() - 3, kinds.end()),
            (std::vector<EventKind>{EventKind::kUnmap, EventKind::kStitch, EventKind::kMap}));
  inventory_.OnReserve(kAlias + MiB(4), MiB(2));
  EXPECT_EQ(inventory_.RangeAt(kAlias + MiB(7)), kNoNumber);
  inventory_.OnUnmap(kAlias, MiB(4));
  inventory_.OnFreeAddress(kAlias, MiB(4));
  EXPECT_EQ(inventory_.RangeAt(kAlias + MiB(8)), behind);
}

TEST_F(InventoryTest, ABlockIsThereUntilItsLastMappingIsGone) {
  MakeAlias();
  inventory_.OnUnmap(kHome, MiB(4));
  inventory_.OnRelease(kBlock);
  EXPECT_EQ(Copy().blocks.size(), 1);
  EXPECT_EQ(inventory_.bytes_released(), Bytes(0));
  inventory_.OnUnmap(kAlias, MiB(4));
  EXPECT_TRUE(Copy().blocks.empty());
  EXPECT_EQ(inventory_.bytes_released(), MiB(4));
  EXPECT_EQ(Kinds().back(), EventKind::kRelease);
}

TEST_F(InventoryTest, OneUnmapMayCoverSeveralMappings) {
  MakeAlias();
  inventory_.OnCreate(8, MiB(2));
  inventory_.OnMap(kHome + MiB(4), MiB(2), 8);
  inventory_.OnMap(kAlias + MiB(4), MiB(2), 8);
  inventory_.OnUnmap(kAlias, MiB(6));
  EXPECT_EQ(Copy().mappings.size(), 2);
  EXPECT_EQ(inventory_.bytes_created(), MiB(6));
}

TEST_F(InventoryTest, ANumberIsNeverUsedAgain) {
  MakeAlias();
  const int32_t first = inventory_.BlockNumber(kBlock);
  inventory_.OnUnmap(kHome, MiB(4));
  inventory_.OnUnmap(kAlias, MiB(4));
  inventory_.OnRelease(kBlock);
  EXPECT_EQ(inventory_.BlockNumber(kBlock), kNoNumber);
  inventory_.OnCreate(kBlock, MiB(4));  // the driver may use a handle again
  EXPECT_NE(inventory_.BlockNumber(kBlock), first);
}

}  // namespace
}  // namespace gmlake
