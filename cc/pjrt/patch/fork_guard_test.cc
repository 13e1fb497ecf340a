#include "cc/pjrt/patch/fork_guard.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

namespace gmlake {
namespace {

TEST(ForkGuardTest, TheChildKnowsAndTheParentIsUnaffected) {
  WatchForks();
  const pid_t child = fork();
  if (child == 0) _exit(InForkedChild() ? 7 : 8);
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(WEXITSTATUS(status), 7);
  EXPECT_FALSE(InForkedChild());
}

}  // namespace
}  // namespace gmlake
