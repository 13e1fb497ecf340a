// What a scripted table answers for a compiled program.
#include "cc/pjrt/plugin/plugin_client.h"

#include <gtest/gtest.h>

#include <cstring>

namespace gmlake {
namespace {

constexpr int64_t kTemporary = int64_t{5} << 30;
constexpr char kText[] = "nobody knows";

// What the entries do, and how many executables are handed out and not given back.
struct Script {
  bool has_executable = true;
  bool has_stats = true;
  int executables = 0;
};

Script script;
int executable, error;  // only their addresses matter

PJRT_Error* Fail() { return reinterpret_cast<PJRT_Error*>(&error); }

PJRT_Error* GetExecutable(PJRT_LoadedExecutable_GetExecutable_Args* args) {
  if (!script.has_executable) return Fail();
  ++script.executables;
  args->executable = reinterpret_cast<PJRT_Executable*>(&executable);
  return nullptr;
}

PJRT_Error* DestroyIt(PJRT_Executable_Destroy_Args* args) {
  if (args->executable == reinterpret_cast<PJRT_Executable*>(&executable)) --script.executables;
  return nullptr;
}

PJRT_Error* GetStats(PJRT_Executable_GetCompiledMemoryStats_Args* args) {
  if (!script.has_stats || args->executable != reinterpret_cast<PJRT_Executable*>(&executable)) return Fail();
  args->argument_size_in_bytes = 1;
  args->temp_size_in_bytes = kTemporary;
  return nullptr;
}

void GetMessage(PJRT_Error_Message_Args* args) {
  args->message = kText;
  args->message_size = std::strlen(kText);
}

PJRT_Api Table() {
  PJRT_Api api = {};
  api.PJRT_Error_Message = &GetMessage;
  api.PJRT_Error_Destroy = [](PJRT_Error_Destroy_Args*) {};
  api.PJRT_LoadedExecutable_GetExecutable = &GetExecutable;
  api.PJRT_Executable_Destroy = &DestroyIt;
  api.PJRT_Executable_GetCompiledMemoryStats = &GetStats;
  return api;
}

class TemporaryBytesTest : public testing::Test {
 protected:
  void SetUp() override { script = {}; }
  void TearDown() override { EXPECT_EQ(script.executables, 0) << "an executable was not given back"; }

  StatusOr<Bytes> Ask() { return TemporaryBytes(api_, nullptr); }

  PJRT_Api api_ = Table();
};

TEST_F(TemporaryBytesTest, AreWhatThePluginSaysOfTheProgram) {
  const StatusOr<Bytes> bytes = Ask();
  ASSERT_TRUE(bytes.ok()) << bytes.status().message();
  EXPECT_EQ(*bytes, Bytes(kTemporary));
}

TEST_F(TemporaryBytesTest, AnErrorOfThePluginIsPassedOn) {
  script.has_stats = false;
  EXPECT_EQ(Ask().status().message(), kText);
  script.has_executable = false;
  EXPECT_EQ(Ask().status().message(), kText);
}

TEST_F(TemporaryBytesTest, ATableWithoutTheEntriesIsNotSupported) {
  api_.PJRT_Executable_GetCompiledMemoryStats = nullptr;
  EXPECT_EQ(Ask().status().code(), StatusCode::kNotSupported);
  api_ = Table();
  api_.PJRT_Executable_Destroy = nullptr;
  EXPECT_EQ(Ask().status().code(), StatusCode::kNotSupported);
  api_ = Table();
  api_.PJRT_LoadedExecutable_GetExecutable = nullptr;
  EXPECT_EQ(Ask().status().code(), StatusCode::kNotSupported);
}

}  // namespace
}  // namespace gmlake
