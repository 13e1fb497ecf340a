#include "cc/driver/fake_driver.h"

#include "gtest/gtest.h"

namespace gmlake {
namespace {

const StreamHandle kStream{reinterpret_cast<void*>(1)};
const StreamHandle kOther{reinterpret_cast<void*>(2)};

class FakeDriverTest : public testing::Test {
 protected:
  Address MapOne(Bytes size) {
    block_ = *driver_.Create(size);
    const Address address = *driver_.Reserve(size);
    EXPECT_TRUE(driver_.Map(address, size, block_).ok());
    EXPECT_TRUE(driver_.SetAccess(address, size).ok());
    return address;
  }

  FakeDriver driver_{MiB(64)};
  BlockHandle block_;
};

TEST_F(FakeDriverTest, MemoryReturnsWhenReleasedAndUnmapped) {
  const Address address = MapOne(MiB(4));
  EXPECT_TRUE(driver_.Release(block_).ok());
  EXPECT_EQ(driver_.memory_in_use(), MiB(4));
  EXPECT_TRUE(driver_.Unmap(address, MiB(4)).ok());
  EXPECT_EQ(driver_.memory_in_use(), Bytes(0));
  EXPECT_TRUE(driver_.violations().empty());
}

TEST_F(FakeDriverTest, RefusesAPartOfABlock) {
  MapOne(MiB(4));
  const Address address = *driver_.Reserve(MiB(4));
  EXPECT_FALSE(driver_.Map(address, MiB(2), block_).ok());
  EXPECT_EQ(driver_.violations().size(), 1u);
}

TEST_F(FakeDriverTest, RefusesToUnmapAPart) {
  const Address address = MapOne(MiB(4));
  EXPECT_FALSE(driver_.Unmap(address, MiB(2)).ok());
}

TEST_F(FakeDriverTest, SeesAnUnmapUnderQueuedWork) {
  const Address address = MapOne(MiB(4));
  driver_.Launch(kStream, address, MiB(4));
  EXPECT_FALSE(driver_.Unmap(address, MiB(4)).ok());
  driver_.FinishAll();
  EXPECT_TRUE(driver_.Unmap(address, MiB(4)).ok());
}

TEST_F(FakeDriverTest, AWaitBetweenStreamsCarriesCompletion) {
  const Address address = MapOne(MiB(4));
  driver_.Launch(kOther, address, MiB(4));
  const EventHandle other = *driver_.RecordEvent(kOther);
  EXPECT_TRUE(driver_.WaitOnStream(kStream, other).ok());
  const EventHandle event = *driver_.RecordEvent(kStream);
  EXPECT_FALSE(*driver_.IsComplete(event));
  EXPECT_TRUE(driver_.WaitOnHost(event).ok());
  EXPECT_TRUE(*driver_.IsComplete(other));
  EXPECT_TRUE(driver_.Unmap(address, MiB(4)).ok());
}

TEST_F(FakeDriverTest, SeesTwoOwnersWithoutOrder) {
  const Address address = MapOne(MiB(4));
  const Address alias = *driver_.Reserve(MiB(4));
  ASSERT_TRUE(driver_.Map(alias, MiB(4), block_).ok());
  ASSERT_TRUE(driver_.SetAccess(alias, MiB(4)).ok());
  driver_.Launch(kStream, address, MiB(2), /*owner=*/1);
  driver_.Launch(kStream, alias, MiB(4), /*owner=*/2);
  driver_.Launch(kOther, alias + MiB(2), MiB(2), /*owner=*/2);
  driver_.Launch(kOther, address + MiB(2), Bytes(1), /*owner=*/2);
  EXPECT_TRUE(driver_.violations().empty());
  driver_.Launch(kOther, alias, Bytes(1), /*owner=*/3);
  EXPECT_EQ(driver_.violations().size(), 1u);
}

TEST_F(FakeDriverTest, AnOrderMayPassThroughAThirdStream) {
  const StreamHandle third{reinterpret_cast<void*>(3)};
  const Address address = MapOne(MiB(4));
  driver_.Launch(kStream, address, MiB(4), /*owner=*/1);
  driver_.Order(third, kStream);
  driver_.Order(kOther, third);
  driver_.Launch(kOther, address, MiB(4), /*owner=*/2);
  EXPECT_TRUE(driver_.violations().empty());
  driver_.FinishSome(kOther, 2);
  EXPECT_TRUE(driver_.Unmap(address, MiB(4)).ok());
}

TEST_F(FakeDriverTest, FailsTheCallsItWasToldTo) {
  driver_.FailCalls(1, 1, StatusCode::kDriverError);
  EXPECT_TRUE(driver_.Reserve(MiB(2)).ok());
  EXPECT_EQ(driver_.Reserve(MiB(2)).status().code(), StatusCode::kDriverError);
  EXPECT_TRUE(driver_.Reserve(MiB(2)).ok());
}

TEST_F(FakeDriverTest, UsesNamesAgainWhereItIsTold) {
  driver_.ReuseNames();
  const StatusOr<Address> first = driver_.Reserve(MiB(4)), second = driver_.Reserve(MiB(2));
  EXPECT_EQ(*first + MiB(4), *second);
  ASSERT_TRUE(driver_.FreeAddress(*first, MiB(4)).ok());
  EXPECT_EQ(*driver_.Reserve(MiB(2)), *first);
  const StatusOr<BlockHandle> block = driver_.Create(MiB(2));
  ASSERT_TRUE(driver_.Map(*first, MiB(2), *block).ok() && driver_.SetAccess(*first, MiB(2)).ok());
  const uint64_t before = driver_.Resolve(*first, Bytes(1))[0].block;
  ASSERT_TRUE(driver_.Unmap(*first, MiB(2)).ok() && driver_.Release(*block).ok());
  EXPECT_EQ(driver_.Create(MiB(2))->value, block->value);
  ASSERT_TRUE(driver_.Map(*first, MiB(2), *block).ok() && driver_.SetAccess(*first, MiB(2)).ok());
  EXPECT_NE(driver_.Resolve(*first, Bytes(1))[0].block, before);  // the same name, other memory
}

TEST_F(FakeDriverTest, TakesNoCallAcrossTwoReservations) {
  driver_.ReuseNames();
  const Address first = MapOne(MiB(4)), second = MapOne(MiB(4));
  ASSERT_EQ(first + MiB(4), second);
  EXPECT_FALSE(driver_.SetAccess(first, MiB(8)).ok());
  EXPECT_FALSE(driver_.Unmap(first, MiB(8)).ok());
  EXPECT_EQ(driver_.violations().size(), 2);
}

TEST_F(FakeDriverTest, OtherProcessesTakeMemory) {
  driver_.SetForeignMemory(MiB(62));
  EXPECT_EQ(driver_.Create(MiB(4)).status().code(), StatusCode::kOutOfMemory);
  EXPECT_TRUE(driver_.Create(MiB(2)).ok());
}

}  // namespace
}  // namespace gmlake
