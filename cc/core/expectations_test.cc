#include "cc/core/expectations.h"

#include "gtest/gtest.h"

namespace gmlake {
namespace {

TEST(ExpectationsTest, TheLatestComesFirst) {
  Expectations expected;
  EXPECT_TRUE(expected.empty());
  expected.Add(MiB(1));
  expected.Add(MiB(2));
  EXPECT_EQ(expected.Next(0), MiB(2));
  EXPECT_EQ(expected.Next(0), MiB(1));
  EXPECT_EQ(expected.Next(0), Bytes(0));
  EXPECT_EQ(expected.Next(1), MiB(2));
}

TEST(ExpectationsTest, ASizeIsThereOnceAndGoesForGood) {
  Expectations expected;
  expected.Add(MiB(1));
  expected.Add(MiB(2));
  expected.Add(MiB(1));
  EXPECT_EQ(expected.Next(0), MiB(1));
  expected.Remove(MiB(1));
  EXPECT_EQ(expected.Next(1), MiB(2));
  EXPECT_EQ(expected.Next(1), Bytes(0));
  expected.Remove(MiB(2));
  EXPECT_TRUE(expected.empty());
}

TEST(ExpectationsTest, TheFirstIsForgottenWhenThereAreTooMany) {
  Expectations expected;
  for (size_t i = 0; i <= Expectations::kMost; ++i) expected.Add(MiB(1 + static_cast<int64_t>(i)));
  for (size_t i = Expectations::kMost; i > 0; --i) EXPECT_EQ(expected.Next(0), MiB(1 + static_cast<int64_t>(i)));
  EXPECT_EQ(expected.Next(0), Bytes(0));
}

TEST(ExpectationsTest, WhatWasLookedAtOftenInVainIsGivenUp) {
  Expectations expected;
  expected.Add(MiB(1));
  for (int look = 0; look < Expectations::kMostLooks; ++look) EXPECT_EQ(expected.Next(look), MiB(1));
  EXPECT_TRUE(expected.empty());
}

}  // namespace
}  // namespace gmlake
