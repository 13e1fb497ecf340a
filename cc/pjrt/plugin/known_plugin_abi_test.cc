#include "cc/pjrt/plugin/known_plugin_abi.h"

#include <gtest/gtest.h>

#include <string>

#include "cc/pjrt/patch/exception_barrier.h"

namespace gmlake {
namespace {

void StockDestroy(PJRT_Error_Destroy_Args*) {}
void OurDestroy(PJRT_Error_Destroy_Args*) {}
constexpr auto kOurDestroy = ExceptionBarrier<&OurDestroy, AnswerAsCApi>::Wrap();

// A plugin's table with one entry and one extension.
class KnownPluginAbiTest : public ::testing::Test {
 protected:
  KnownPluginAbiTest() {
    table_.struct_size = sizeof(table_);
    table_.PJRT_Error_Destroy = &StockDestroy;
  }

  Status Replace() { return ReplaceIfThere(&table_, &edit_, &PJRT_Api::PJRT_Error_Destroy, kOurDestroy); }

  Status CheckWithExtension(int type, size_t size) {
    extension_.type = static_cast<PJRT_Extension_Type>(type);
    extension_.struct_size = size;
    table_.extension_start = &extension_;
    return CheckAllKnown(table_);
  }

  PJRT_Api table_ = {};
  PJRT_Extension_Base extension_ = {};
  TableEdit edit_;
};

TEST_F(KnownPluginAbiTest, ReplacesWhatIsThere) {
  EXPECT_TRUE(Replace().ok());
  EXPECT_EQ(table_.PJRT_Error_Destroy, kOurDestroy.get());
}

// JAX takes null for "this plugin cannot do that".
TEST_F(KnownPluginAbiTest, WhatIsNullStaysNull) {
  table_.PJRT_Error_Destroy = nullptr;
  EXPECT_TRUE(Replace().ok());
  EXPECT_EQ(table_.PJRT_Error_Destroy, nullptr);
}

TEST_F(KnownPluginAbiTest, WhatLiesBehindTheTableIsNotTouched) {
  table_.struct_size = offsetof(PJRT_Api, PJRT_Error_Destroy);
  EXPECT_TRUE(Replace().ok());
  EXPECT_EQ(table_.PJRT_Error_Destroy, &StockDestroy);
}

TEST_F(KnownPluginAbiTest, PartOfWhatIsHarmlessIsKnownAndMoreIsNot) {
  EXPECT_TRUE(CheckWithExtension(4, 80).ok());
  EXPECT_TRUE(CheckWithExtension(4, 72).ok());
  EXPECT_EQ(CheckWithExtension(4, 88).code(), StatusCode::kNotSupported);
}

TEST_F(KnownPluginAbiTest, OnlyAllOfWhatIsGatedIsKnown) {
  EXPECT_TRUE(CheckWithExtension(kCrossHostTransfers, 56).ok());
  for (size_t size : {48, 64})
    EXPECT_EQ(CheckWithExtension(kCrossHostTransfers, size).code(), StatusCode::kNotSupported);
}

TEST_F(KnownPluginAbiTest, AnUnknownExtensionIsNamed) {
  const Status status = CheckWithExtension(99, 24);
  EXPECT_EQ(status.code(), StatusCode::kNotSupported);
  EXPECT_NE(status.message().find("PJRT extension 99 of 24 bytes"), std::string::npos) << status.message();
}

TEST_F(KnownPluginAbiTest, FindsAnExtensionByItsNumber) {
  EXPECT_TRUE(CheckWithExtension(kCrossHostTransfers, 56).ok());
  EXPECT_EQ(FindExtension(table_, kCrossHostTransfers), &extension_);
  EXPECT_EQ(FindExtension(table_, 4), nullptr);
}

TEST_F(KnownPluginAbiTest, NoEntryLiesBehindTheTable) {
  const size_t entries = sizeof(table_) / sizeof(void*);
  EXPECT_EQ(EntryAt(&table_, entries - 1), reinterpret_cast<void**>(&table_) + entries - 1);
  EXPECT_EQ(EntryAt(&table_, entries), nullptr);
}

}  // namespace
}  // namespace gmlake
