// What a scripted table answers for a compiled program.
#include "cc/pjrt/plugin/plugin_client.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstring>

namespace gmlake {
namespace {

constexpr char kText[] = "nobody knows";
constexpr char kName[] = "jit_step";

// What the entries do, and how many executables are handed out and not given back.
struct Script {
  bool has_executable = true;
  bool has_answers = true;
  int executables = 0;
};

Script script;
int executable, error;  // only their addresses matter

PJRT_Error* Fail() { return reinterpret_cast<PJRT_Error*>(&error); }

bool IsOurs(const PJRT_Executable* asked) { return asked == reinterpret_cast<PJRT_Executable*>(&executable); }

PJRT_Error* GetExecutable(PJRT_LoadedExecutable_GetExecutable_Args* args) {
  if (!script.has_executable) return Fail();
  ++script.executables;
  args->executable = reinterpret_cast<PJRT_Executable*>(&executable);
  return nullptr;
}

PJRT_Error* DestroyIt(PJRT_Executable_Destroy_Args* args) {
  if (IsOurs(args->executable)) --script.executables;
  return nullptr;
}

PJRT_Error* GetName(PJRT_Executable_Name_Args* args) {
  if (!script.has_answers || !IsOurs(args->executable)) return Fail();
  args->executable_name = kName;
  args->executable_name_size = std::strlen(kName);
  return nullptr;
}

PJRT_Error* CountOutputs(PJRT_Executable_NumOutputs_Args* args) {
  if (!script.has_answers || !IsOurs(args->executable)) return Fail();
  args->num_outputs = 3;
  return nullptr;
}

void GetMessage(PJRT_Error_Message_Args* args) {
  args->message = kText;
  args->message_size = std::strlen(kText);
}

PJRT_Api Table() {
  PJRT_Api api = {};
  api.struct_size = sizeof(api);
  api.PJRT_Error_Message = &GetMessage;
  api.PJRT_Error_Destroy = [](PJRT_Error_Destroy_Args*) {};
  api.PJRT_LoadedExecutable_GetExecutable = &GetExecutable;
  api.PJRT_Executable_Destroy = &DestroyIt;
  api.PJRT_Executable_Name = &GetName;
  api.PJRT_Executable_NumOutputs = &CountOutputs;
  return api;
}

class PluginClientTest : public testing::Test {
 protected:
  void SetUp() override { script = {}; }
  void TearDown() override { EXPECT_EQ(script.executables, 0) << "an executable was not given back"; }

  const PluginClient plugin_{Table()};
};

TEST_F(PluginClientTest, TellsWhatThePluginSaysOfAProgram) {
  EXPECT_EQ(plugin_.NameOf(nullptr), kName);
  EXPECT_EQ(plugin_.NumOutputs(nullptr), 3u);
}

TEST_F(PluginClientTest, WhatThePluginDoesNotTellIsNotKnown) {
  script.has_answers = false;
  EXPECT_EQ(plugin_.NameOf(nullptr), "");
  EXPECT_EQ(plugin_.NumOutputs(nullptr), 0u);
  script.has_executable = false;
  EXPECT_EQ(plugin_.NameOf(nullptr), "");
  EXPECT_EQ(plugin_.NumOutputs(nullptr), 0u);
}

TEST_F(PluginClientTest, AnErrorBecomesAStatusWithItsText) {
  EXPECT_EQ(plugin_.TakeError(Fail()).message(), kText);
  EXPECT_TRUE(plugin_.TakeError(nullptr).ok());
}

TEST_F(PluginClientTest, ATableOfAnOlderPluginEndsEarlier) {
  PJRT_Api older = Table();
  older.struct_size = offsetof(PJRT_Api, PJRT_Executable_Name);
  EXPECT_EQ(CopyOf(older).PJRT_Executable_Name, nullptr);
  EXPECT_NE(CopyOf(older).PJRT_Error_Message, nullptr);
}

}  // namespace
}  // namespace gmlake
