#include "cc/emulator/calls/settings.h"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

namespace gmlake::emulator {
namespace {

std::map<std::string, std::string>& Variables() {
  static std::map<std::string, std::string> variables;
  return variables;
}

const char* Get(const char* name) {
  const auto found = Variables().find(name);
  return found == Variables().end() ? nullptr : found->second.c_str();
}

Settings Read(std::map<std::string, std::string> variables) {
  Variables() = std::move(variables);
  return ReadSettings(Get);
}

TEST(SettingsTest, WithoutVariablesThereIsOneDeviceOfOneGiB) {
  const Settings read = Read({});
  EXPECT_EQ(read.devices, 1);
  EXPECT_EQ(read.memory, size_t{1} << 30);
  EXPECT_FALSE(read.async);
  EXPECT_TRUE(read.checks);
  EXPECT_EQ(read.poison, -1);
}

TEST(SettingsTest, MemoryHasUnitsAndIsCutToWholeGranules) {
  EXPECT_EQ(Read({{"GMLAKE_EMULATOR_MEMORY", "3GiB"}}).memory, size_t{3} << 30);
  EXPECT_EQ(Read({{"GMLAKE_EMULATOR_MEMORY", "64MiB"}}).memory, size_t{64} << 20);
  EXPECT_EQ(Read({{"GMLAKE_EMULATOR_MEMORY", "5000000"}}).memory, size_t{4} << 20);
}

TEST(SettingsTest, EveryVariableIsRead) {
  const Settings read = Read({{"GMLAKE_EMULATOR_DEVICES", "4"},
                              {"GMLAKE_EMULATOR_ASYNC", "1"},
                              {"GMLAKE_EMULATOR_DELAY_US", "50"},
                              {"GMLAKE_EMULATOR_CHECKS", "0"},
                              {"GMLAKE_EMULATOR_FAULTS", "cuMemMap@1"},
                              {"GMLAKE_EMULATOR_DOUBLE_UNMAP", "refuse"},
                              {"GMLAKE_EMULATOR_POOL", "hasty"},
                              {"GMLAKE_EMULATOR_POISON", "0xCD"},
                              {"GMLAKE_EMULATOR_SHARED", "/tmp/shared"},
                              {"GMLAKE_EMULATOR_LOG", "/tmp/log"},
                              {"GMLAKE_EMULATOR_TRACE", "1"}});
  EXPECT_EQ(read.devices, 4);
  EXPECT_TRUE(read.async);
  EXPECT_EQ(read.delay_us, 50);
  EXPECT_FALSE(read.checks);
  EXPECT_EQ(read.faults, "cuMemMap@1");
  EXPECT_TRUE(read.refuse_double_unmap);
  EXPECT_TRUE(read.hasty_pool);
  EXPECT_EQ(read.poison, 0xCD);
  EXPECT_EQ(read.shared, "/tmp/shared");
  EXPECT_EQ(read.log, "/tmp/log");
  EXPECT_TRUE(read.trace);
}

TEST(SettingsTest, TheProcessSeesTheDevicesThatCudasVariableNames) {
  EXPECT_EQ(Read({{"GMLAKE_EMULATOR_DEVICES", "3"}}).visible, (std::vector<int>{0, 1, 2}));
  EXPECT_EQ(Read({{"GMLAKE_EMULATOR_DEVICES", "3"}, {"CUDA_VISIBLE_DEVICES", "2"}}).visible, (std::vector<int>{2}));
}

TEST(SettingsTest, AValueThatCannotBeUnderstoodEndsTheProcess) {
  EXPECT_EXIT(Read({{"GMLAKE_EMULATOR_DEVICES", "two"}}), testing::ExitedWithCode(2), "DEVICES=two");
  EXPECT_EXIT(Read({{"GMLAKE_EMULATOR_MEMORY", "1 GB"}}), testing::ExitedWithCode(2), "KiB, MiB or GiB");
  EXPECT_EXIT(Read({{"GMLAKE_EMULATOR_DOUBLE_UNMAP", "no"}}), testing::ExitedWithCode(2), "accept or refuse");
}

}  // namespace
}  // namespace gmlake::emulator
