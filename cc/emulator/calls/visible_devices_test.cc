#include "cc/emulator/calls/visible_devices.h"

#include <gtest/gtest.h>

namespace gmlake::emulator {
namespace {

using Numbers = std::vector<int>;

TEST(VisibleDevicesTest, WithoutTheVariableAllAreSeen) { EXPECT_EQ(VisibleDevices(nullptr, 3), (Numbers{0, 1, 2})); }

TEST(VisibleDevicesTest, TheListIsAChoiceAndAnOrder) {
  EXPECT_EQ(VisibleDevices("2,0", 4), (Numbers{2, 0}));
  EXPECT_EQ(VisibleDevices("3", 4), (Numbers{3}));
}

TEST(VisibleDevicesTest, AnEmptyListShowsNone) {
  EXPECT_EQ(VisibleDevices("", 4), Numbers());
  EXPECT_EQ(VisibleDevices("-1", 4), Numbers());
  EXPECT_EQ(VisibleDevices("NoDevFiles", 4), Numbers());
}

TEST(VisibleDevicesTest, WhatStandsBehindANameThatIsNoDeviceIsNotSeen) {
  EXPECT_EQ(VisibleDevices("1,7,0", 4), (Numbers{1}));
  EXPECT_EQ(VisibleDevices("1,x,0", 4), (Numbers{1}));
  EXPECT_EQ(VisibleDevices("1,99999999999999999999,0", 4), (Numbers{1}));
}

TEST(VisibleDevicesTest, AListThatNamesADeviceTwiceShowsNone) { EXPECT_EQ(VisibleDevices("1,0,1", 4), Numbers()); }

TEST(VisibleDevicesTest, ADeviceIsNamedByItsUuidOrAsMuchOfItAsNamesNoOther) {
  EXPECT_EQ(VisibleDevices(UuidText(2).c_str(), 4), (Numbers{2}));
  EXPECT_EQ(VisibleDevices("GPU-454d", 1), (Numbers{0}));
  EXPECT_EQ(VisibleDevices("GPU-454d", 2), Numbers());
}

}  // namespace
}  // namespace gmlake::emulator
