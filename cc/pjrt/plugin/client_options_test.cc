#include "cc/pjrt/plugin/client_options.h"

#include <gtest/gtest.h>

namespace gmlake {
namespace {

PJRT_NamedValue Text(const char* name, const char* text) {
  ClientOptions options(nullptr, 0);
  options.SetString(name, text);
  return *options.data();
}

std::string TextOf(const ClientOptions& options, size_t index) {
  return std::string(options.data()[index].string_value, options.data()[index].value_size);
}

TEST(ClientOptionsTest, ReplacesWhatIsThereAndAddsWhatIsNot) {
  const PJRT_NamedValue given[] = {Text("allocator", "default"), Text("other", "kept")};
  ClientOptions options(given, 2);
  options.SetString("allocator", "cuda_async");
  options.SetBool("preallocate", false);
  ASSERT_EQ(options.size(), 3);
  EXPECT_EQ(TextOf(options, 0), "cuda_async");
  EXPECT_EQ(TextOf(options, 1), "kept");
  EXPECT_EQ(options.data()[2].type, PJRT_NamedValue_kBool);
  EXPECT_FALSE(options.data()[2].bool_value);
}

TEST(ClientOptionsTest, LeavesTheCallersListAlone) {
  const PJRT_NamedValue given[] = {Text("allocator", "default")};
  ClientOptions options(given, 1);
  options.SetString("allocator", "cuda_async");
  EXPECT_STREQ(given[0].string_value, "default");
}

TEST(ClientOptionsTest, TellsAnExplicitAllocatorFromTheDefault) {
  const PJRT_NamedValue defaulted[] = {Text("allocator", "default")};
  const PJRT_NamedValue explicit_one[] = {Text("allocator", "bfc")};
  EXPECT_EQ(ClientOptions(nullptr, 0).RequestedAllocator(), "");
  EXPECT_EQ(ClientOptions(defaulted, 1).RequestedAllocator(), "");
  EXPECT_EQ(ClientOptions(explicit_one, 1).RequestedAllocator(), "bfc");
}

TEST(ClientOptionsTest, ReadsTheVisibleDevices) {
  const int64_t ordinals[] = {1, 3};
  PJRT_NamedValue visible = {};
  visible.struct_size = PJRT_NamedValue_STRUCT_SIZE;
  visible.name = "visible_devices";
  visible.name_size = 15;
  visible.type = PJRT_NamedValue_kInt64List;
  visible.int64_array_value = ordinals;
  visible.value_size = 2;
  EXPECT_EQ(ClientOptions(&visible, 1).VisibleDevices(), (std::vector<int>{1, 3}));
  EXPECT_TRUE(ClientOptions(nullptr, 0).VisibleDevices().empty());
}

TEST(ClientOptionsTest, AnOrdinalThatIsTooLargeIsNoOtherDevice) {
  const int64_t ordinals[] = {1, int64_t{1} << 32, -7};
  PJRT_NamedValue visible = Text("visible_devices", "");
  visible.type = PJRT_NamedValue_kInt64List;
  visible.int64_array_value = ordinals;
  visible.value_size = 3;
  EXPECT_EQ(ClientOptions(&visible, 1).VisibleDevices(), (std::vector<int>{1, -1, -1}));
}

TEST(ClientOptionsTest, ReadsWhatTheHostAsksOfXlasAllocator) {
  PJRT_NamedValue fraction = Text("memory_fraction", "");
  EXPECT_EQ(ClientOptions(&fraction, 1).MemoryFraction(), std::nullopt) << "of another type";
  fraction.type = PJRT_NamedValue_kFloat;
  fraction.float_value = 0.5;
  EXPECT_EQ(ClientOptions(&fraction, 1).MemoryFraction(), 0.5);
  EXPECT_EQ(ClientOptions(&fraction, 1).Preallocate(), std::nullopt);
  ClientOptions options(nullptr, 0);
  options.SetBool("preallocate", true);
  EXPECT_EQ(options.Preallocate(), true);
}

}  // namespace
}  // namespace gmlake
