#include "cc/safety/audit_driver.h"

#include "cc/driver/fake_driver.h"
#include "gtest/gtest.h"

namespace gmlake {
namespace {

class AuditDriverTest : public testing::Test {
 protected:
  // `block` at the start of new addresses, `times` times in a row.
  Address Map(BlockHandle block, int times) {
    const Address address = *audit_.Reserve(MiB(4) * times);
    for (int i = 0; i < times; ++i) EXPECT_TRUE(audit_.Map(address + MiB(4) * i, MiB(4), block).ok());
    EXPECT_TRUE(audit_.SetAccess(address, MiB(4) * times).ok());
    return address;
  }

  bool SameBytes(Address address, const Alias& alias) const {
    const auto mine = fake_.Resolve(address, alias.size), theirs = fake_.Resolve(alias.address, alias.size);
    return !mine.empty() && mine[0].block == theirs[0].block && mine[0].offset == theirs[0].offset;
  }

  FakeDriver fake_{GiB(1)};
  AuditDriver audit_{&fake_};
};

TEST_F(AuditDriverTest, AnAliasIsAnotherAddressOfTheSameBytes) {
  const BlockHandle first = *audit_.Create(MiB(4)), second = *audit_.Create(MiB(4));
  const Address address = Map(first, 1), other = Map(second, 2);
  const auto aliases = audit_.AliasesOf(address + MiB(2), MiB(1));
  ASSERT_EQ(aliases->size(), 1u);
  EXPECT_NE(aliases->front().address, address + MiB(2));
  EXPECT_TRUE(SameBytes(address + MiB(2), aliases->front()));
  EXPECT_EQ(audit_.AliasesOf(other, MiB(8))->size(), 2u);
  EXPECT_EQ(audit_.AliasesOf(other, MiB(8))->back().mappings, 2);
}

TEST_F(AuditDriverTest, WhatIsNotMappedHasNoAlias) {
  const Address address = Map(*audit_.Create(MiB(4)), 1);
  EXPECT_FALSE(audit_.AliasesOf(address, MiB(6)).ok());
  EXPECT_TRUE(audit_.Unmap(address, MiB(4)).ok());
  EXPECT_FALSE(audit_.AliasesOf(address, MiB(2)).ok());
}

TEST_F(AuditDriverTest, AReleasedBlockLeavesNothing) {
  const BlockHandle block = *audit_.Create(MiB(4));
  EXPECT_EQ(fake_.num_mappings(), 1);
  EXPECT_TRUE(audit_.Release(block).ok());
  EXPECT_EQ(fake_.num_mappings() + fake_.num_reservations() + fake_.num_blocks(), 0);
  EXPECT_TRUE(fake_.violations().empty());
}

TEST_F(AuditDriverTest, ABlockWithoutAliasIsNoBlock) {
  fake_.FailNamed("map", 0, 1, StatusCode::kOutOfMemory);
  EXPECT_EQ(audit_.Create(MiB(4)).status().code(), StatusCode::kOutOfMemory);
  EXPECT_EQ(fake_.num_reservations() + fake_.num_blocks(), 0);
}

}  // namespace
}  // namespace gmlake
