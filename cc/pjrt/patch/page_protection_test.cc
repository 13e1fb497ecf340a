#include "cc/pjrt/patch/page_protection.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

namespace gmlake {
namespace {

class PageProtectionTest : public testing::TestWithParam<int> {
 protected:
  void SetUp() override {
    size_ = static_cast<size_t>(sysconf(_SC_PAGESIZE));
    page_ = static_cast<char*>(mmap(nullptr, size_, GetParam(), MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  }
  void TearDown() override { munmap(page_, size_); }

  size_t size_ = 0;
  char* page_ = nullptr;
};

TEST_P(PageProtectionTest, OpensThePageAndRestoresWhatItWas) {
  {
    StatusOr<WritablePage> page = WritablePage::Open(page_ + 100);
    ASSERT_TRUE(page.ok());
    page_[100] = 1;
  }
  EXPECT_EQ(ProtectionOf(page_), GetParam());
  EXPECT_EQ(ProtectionOf(page_ + size_ - 1), GetParam());
}

INSTANTIATE_TEST_SUITE_P(Protections, PageProtectionTest,
                         testing::Values(PROT_READ, PROT_READ | PROT_WRITE, PROT_READ | PROT_EXEC));

TEST(PageProtectionOfNothingTest, IsRefused) {
  EXPECT_EQ(ProtectionOf(nullptr), -1);
  EXPECT_FALSE(WritablePage::Open(nullptr).ok());
}

}  // namespace
}  // namespace gmlake
