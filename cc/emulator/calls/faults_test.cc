#include "cc/emulator/calls/faults.h"

#include <gtest/gtest.h>

namespace gmlake::emulator {
namespace {

TEST(FaultScriptTest, ReadsItsWholeGrammar) {
  FaultScript script;
  for (const char* text : {"", "f@1", "f@1+", "f%10", "f%10/7", "f~200", "f@1=3", "f%10/7=999", "cuMem*@1,g~5"}) {
    EXPECT_TRUE(script.Set(text)) << text;
  }
}

TEST(FaultScriptTest, RefusesWhatIsNotInTheGrammar) {
  FaultScript script;
  for (const char* text : {"f", "@1", "f@", "f@x", "f@1-", "f%10/", "f@1=", "f@1 ", "f@-1", ",", "f@1,,g@1"}) {
    EXPECT_FALSE(script.Set(text)) << text;
  }
}

TEST(FaultScriptTest, CountsFromWhenItWasSet) {
  FaultScript script;
  ASSERT_TRUE(script.Set("f@2=5"));
  EXPECT_EQ(script.Next("f").code, 0);
  EXPECT_EQ(script.Next("g").code, 0);
  EXPECT_EQ(script.Next("f").code, 5);
  ASSERT_TRUE(script.Set("f@2=5"));
  EXPECT_EQ(script.Next("f").code, 0);
}

TEST(FaultScriptTest, APrefixMatchesEveryCallThatBeginsSo) {
  FaultScript script;
  ASSERT_TRUE(script.Set("cuMem*@1+"));
  EXPECT_EQ(script.Next("cuMemMap").code, 2);
  EXPECT_EQ(script.Next("cuInit").code, 0);
}

TEST(FaultScriptTest, DelaysAddUpAndDoNotFail) {
  FaultScript script;
  ASSERT_TRUE(script.Set("f~100,f~20"));
  const Fault fault = script.Next("f");
  EXPECT_EQ(fault.delay_us, 120);
  EXPECT_EQ(fault.code, 0);
}

}  // namespace
}  // namespace gmlake::emulator
