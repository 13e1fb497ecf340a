#include "cc/report/program_name.h"

#include "gtest/gtest.h"

namespace gmlake {
namespace {

using namespace std::string_literals;

TEST(ProgramNameTest, IsTheScriptAndItsArguments) {
  EXPECT_EQ(ProgramNameOf("/usr/bin/python3\0-u\0jobs/train.py\0--steps\0"
                          "20\0"s),
            "train.py --steps 20");
}

TEST(ProgramNameTest, IsTheProgramWhereThereIsNoScript) {
  EXPECT_EQ(ProgramNameOf("/opt/serve\0--port=1\0"s), "serve --port=1");
  EXPECT_EQ(ProgramNameOf("python3\0-m\0serve\0"s), "python3 -m serve");
}

TEST(ProgramNameTest, IsEmptyForNothing) { EXPECT_EQ(ProgramNameOf(""), ""); }

TEST(ProgramNameTest, KnowsThisProcess) { EXPECT_EQ(ProgramName().rfind("program_name_test", 0), 0u); }

}  // namespace
}  // namespace gmlake
