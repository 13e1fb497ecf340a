#include "cc/driver/host_memory.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <fstream>

namespace gmlake {
namespace {

class HostMemoryTest : public testing::Test {
 protected:
  HostMemoryTest() : root_(testing::TempDir() + "/host_memory_XXXXXX") {
    mkdtemp(root_.data());
    for (const char* folder : {"/proc", "/sys", "/sys/fs", "/sys/fs/cgroup", "/sys/fs/cgroup/memory"}) {
      mkdir((root_ + folder).c_str(), 0700);
    }
    Write("/proc/meminfo", "MemTotal:       2048 kB\nMemAvailable:   1024 kB\n");
  }

  void Write(const std::string& path, const std::string& text) { std::ofstream(root_ + path) << text; }

  std::string root_;
};

TEST_F(HostMemoryTest, IsWhatTheMachineHasLeft) { EXPECT_EQ(AvailableHostMemoryUnder(root_), MiB(1)); }

TEST_F(HostMemoryTest, IsLessInAContainerThatHasLessLeft) {
  Write("/sys/fs/cgroup/memory.max", "600000\n");
  Write("/sys/fs/cgroup/memory.current", "100000\n");
  EXPECT_EQ(AvailableHostMemoryUnder(root_), Bytes(500000));
}

TEST_F(HostMemoryTest, PagesOfFilesDoNotCountAsTaken) {
  Write("/sys/fs/cgroup/memory.max", "600000\n");
  Write("/sys/fs/cgroup/memory.current", "500000\n");
  Write("/sys/fs/cgroup/memory.stat", "anon 5\ninactive_file 300000\n");
  EXPECT_EQ(AvailableHostMemoryUnder(root_), Bytes(400000));
}

TEST_F(HostMemoryTest, KnowsTheOlderControlGroupsToo) {
  Write("/sys/fs/cgroup/memory/memory.limit_in_bytes", "600000\n");
  Write("/sys/fs/cgroup/memory/memory.usage_in_bytes", "700000\n");
  EXPECT_EQ(AvailableHostMemoryUnder(root_), Bytes(0));
}

TEST_F(HostMemoryTest, AContainerWithoutALimitChangesNothing) {
  Write("/sys/fs/cgroup/memory.max", "max\n");
  Write("/sys/fs/cgroup/memory.current", "100000\n");
  EXPECT_EQ(AvailableHostMemoryUnder(root_), MiB(1));
}

TEST_F(HostMemoryTest, ThisMachineHasSome) { EXPECT_GT(AvailableHostMemory(), MiB(1)); }

}  // namespace
}  // namespace gmlake
