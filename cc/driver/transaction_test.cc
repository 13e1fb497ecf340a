#include "cc/driver/transaction.h"

#include "cc/driver/fake_driver.h"
#include "gtest/gtest.h"

namespace gmlake {
namespace {

class TransactionTest : public testing::Test {
 protected:
  // Reserve, create, map and open one block: four calls.
  Status Build(Transaction* transaction) {
    StatusOr<Address> address = transaction->Reserve(MiB(2));
    if (!address.ok()) return address.status();
    StatusOr<BlockHandle> block = transaction->Create(MiB(2));
    if (!block.ok()) return block.status();
    Status mapped = transaction->Map(*address, MiB(2), *block);
    if (!mapped.ok()) return mapped;
    return transaction->SetAccess(*address, MiB(2));
  }

  bool NothingLeft() const {
    return driver_.num_blocks() == 0 && driver_.num_mappings() == 0 && driver_.num_reservations() == 0;
  }

  FakeDriver driver_{MiB(64)};
  Unreleased unreleased_;
};

TEST_F(TransactionTest, KeepsWhatIsCommitted) {
  {
    Transaction transaction(&driver_, &unreleased_);
    ASSERT_TRUE(Build(&transaction).ok());
    transaction.Commit();
  }
  EXPECT_EQ(driver_.num_mappings(), 1);
}

TEST_F(TransactionTest, UndoesWhatIsNotCommitted) {
  {
    Transaction transaction(&driver_, &unreleased_);
    ASSERT_TRUE(Build(&transaction).ok());
  }
  EXPECT_TRUE(NothingLeft());
  EXPECT_TRUE(driver_.violations().empty());
}

TEST_F(TransactionTest, UndoesAfterAFailureOfAnyStep) {
  for (int step = 0; step < 4; ++step) {
    driver_.FailCalls(step, 1, StatusCode::kDriverError);
    {
      Transaction transaction(&driver_, &unreleased_);
      EXPECT_FALSE(Build(&transaction).ok()) << step;
    }
    EXPECT_TRUE(NothingLeft()) << step;
  }
  EXPECT_EQ(unreleased_.bytes, Bytes(0));
}

TEST_F(TransactionTest, TriesAccessOnceMoreWhenNotReady) {
  driver_.FailCalls(3, 1, StatusCode::kNotReady);
  Transaction transaction(&driver_, &unreleased_);
  EXPECT_TRUE(Build(&transaction).ok());
}

TEST_F(TransactionTest, TriesAccessNoMoreThanTwice) {
  driver_.FailCalls(3, 2, StatusCode::kNotReady);
  Transaction transaction(&driver_, &unreleased_);
  EXPECT_EQ(Build(&transaction).code(), StatusCode::kNotReady);
}

// The unmap of the undo fails: block and addresses must stay, and are reported.
TEST_F(TransactionTest, LeavesAStuckMappingAlone) {
  {
    Transaction transaction(&driver_, &unreleased_);
    ASSERT_TRUE(Build(&transaction).ok());
    driver_.FailCalls(0, 1, StatusCode::kDriverError);
  }
  EXPECT_EQ(driver_.num_mappings(), 1);
  EXPECT_EQ(driver_.num_blocks(), 1);
  EXPECT_EQ(unreleased_.bytes, MiB(2));
  EXPECT_EQ(unreleased_.blocks, 1);
  EXPECT_EQ(unreleased_.ranges, 1);
  EXPECT_TRUE(driver_.violations().empty());
}

TEST_F(TransactionTest, ReportsAStuckBlock) {
  {
    Transaction transaction(&driver_, &unreleased_);
    ASSERT_TRUE(Build(&transaction).ok());
    driver_.FailCalls(1, 1, StatusCode::kDriverError);
  }
  EXPECT_EQ(unreleased_.bytes, MiB(2));
  EXPECT_EQ(driver_.num_reservations(), 0);
}

}  // namespace
}  // namespace gmlake
