// Two processes and one emulated device: what one holds the other cannot have, until it is given back or its holder has
// ended.

#include "cc/emulator/memory/shared_use.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>

#include "cc/emulator/memory/physical_memory.h"

namespace gmlake::emulator {
namespace {

constexpr size_t kMiB = size_t{1} << 20;

std::string NewFile(const char* name) {
  const std::string path = testing::TempDir() + name;
  unlink(path.c_str());
  return path;
}

// Runs `act` in another process; whether it returned true. The process ends with what it holds.
template <typename Act>
bool InAnotherProcess(Act act) {
  const pid_t child = fork();
  if (child == 0) _exit(act() ? 0 : 1);
  int status = -1;
  waitpid(child, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

TEST(SharedUseTest, WhatOneProcessHoldsTheOtherCannotHave) {
  const std::string path = NewFile("held");
  SharedUse mine(path, 0);
  ASSERT_TRUE(mine.Take(60 * kMiB, 100 * kMiB));
  EXPECT_TRUE(InAnotherProcess([&] {
    SharedUse other(path, 0);
    return other.used() == 60 * kMiB && !other.Take(41 * kMiB, 100 * kMiB) && other.Take(40 * kMiB, 100 * kMiB);
  }));
  mine.Give(60 * kMiB);
  EXPECT_EQ(mine.used(), 0u);
}

TEST(SharedUseTest, WhatAProcessHeldIsFreeWhenItHasEnded) {
  const std::string path = NewFile("ended");
  SharedUse mine(path, 0);
  ASSERT_TRUE(InAnotherProcess([&] { return SharedUse(path, 0).Take(90 * kMiB, 100 * kMiB); }));
  EXPECT_TRUE(mine.Take(100 * kMiB, 100 * kMiB));
}

TEST(SharedUseTest, DevicesAreCountedApart) {
  const std::string path = NewFile("devices");
  SharedUse one(path, 0), other(path, 1);
  ASSERT_TRUE(one.Take(100 * kMiB, 100 * kMiB));
  EXPECT_EQ(other.used(), 0u);
  EXPECT_TRUE(other.Take(100 * kMiB, 100 * kMiB));
}

TEST(SharedUseTest, TheBytesOfTheFileAreTakenBeforeTheyAreMapped) {
  const std::string path = NewFile("taken");
  const SharedUse mine(path, 0);
  struct stat facts = {};
  ASSERT_EQ(stat(path.c_str(), &facts), 0);
  EXPECT_GE(facts.st_blocks * 512, facts.st_size);
  EXPECT_GT(facts.st_size, 0);
}

TEST(SharedUseTest, TheMemoryOfADeviceIsThatOfAllItsProcesses) {
  const std::string path = NewFile("memory");
  PhysicalMemory mine(0, 100 * kMiB, path);
  const std::vector<Extent> held = mine.Take(60 * kMiB);
  ASSERT_FALSE(held.empty());
  EXPECT_TRUE(InAnotherProcess([&] {
    PhysicalMemory other(0, 100 * kMiB, path);
    return other.left() == 40 * kMiB && other.Take(42 * kMiB).empty() && !other.Take(40 * kMiB).empty();
  }));
  mine.Give(held);
  EXPECT_EQ(mine.left(), 100 * kMiB);
}

}  // namespace
}  // namespace gmlake::emulator
