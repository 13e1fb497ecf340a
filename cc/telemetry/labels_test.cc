#include "cc/telemetry/labels.h"

#include <gtest/gtest.h>

#include <thread>

namespace gmlake {
namespace {

TEST(LabelsTest, APathSaysWhatIsInsideWhat) {
  const int32_t train = InternLabel(kNoLabel, "train");
  const int32_t step = InternLabel(train, "step");
  EXPECT_EQ(LabelPath(step), "train/step");
  EXPECT_EQ(LabelPath(kNoLabel), "");
  EXPECT_EQ(LabelPaths()[step], "train/step");
}

TEST(LabelsTest, TheSamePathIsTheSameNumber) {
  const int32_t a = InternLabel(kNoLabel, "a");
  EXPECT_EQ(InternLabel(kNoLabel, "a"), a);
  EXPECT_NE(InternLabel(a, "a"), a);
}

TEST(LabelsTest, ANameIsFoundAtAnyDepth) {
  const int32_t outer = InternLabel(kNoLabel, "outer");
  const int32_t inner = InternLabel(outer, "inner");
  EXPECT_TRUE(HasName(inner, "outer"));
  EXPECT_TRUE(HasName(inner, "inner"));
  EXPECT_FALSE(HasName(outer, "inner"));
  EXPECT_FALSE(HasName(kNoLabel, "outer"));
}

TEST(LabelsTest, EachThreadHasItsOwn) {
  SetCurrentLabel(InternLabel(kNoLabel, "mine"));
  int32_t others = 0;
  std::thread([&others] { others = CurrentLabel(); }).join();
  EXPECT_EQ(others, kNoLabel);
  EXPECT_EQ(LabelPath(CurrentLabel()), "mine");
  SetCurrentLabel(kNoLabel);
}

TEST(LabelsTest, NamesWithoutEndAreCountedUnderTheirParent) {
  const int32_t parent = InternLabel(kNoLabel, "numbered");
  int32_t last = kNoLabel;
  for (int i = 0; i < kMostLabels + 10; ++i) last = InternLabel(parent, std::to_string(i));
  EXPECT_EQ(last, parent);
  EXPECT_EQ(LabelPaths().size(), kMostLabels);
}

}  // namespace
}  // namespace gmlake
