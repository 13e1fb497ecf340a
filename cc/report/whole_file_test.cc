#include "cc/report/whole_file.h"

#include <dirent.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <fstream>
#include <sstream>
#include <thread>
#include <vector>

namespace gmlake {
namespace {

std::string ReadFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream content;
  content << file.rdbuf();
  return content.str();
}

// A folder of its own for each test.
class WholeFileTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = std::string(getenv("TEST_TMPDIR")) + "/XXXXXX";
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    folder_ = name;
    path_ = folder_ + "/a.npz";
  }

  size_t NumFiles() const {
    DIR* folder = opendir(folder_.c_str());
    size_t count = 0;
    while (readdir(folder) != nullptr) ++count;
    closedir(folder);
    return count - 2;  // "." and ".."
  }

  std::string folder_, path_;
};

TEST_F(WholeFileTest, LeavesNothingButTheFile) {
  ASSERT_TRUE(WriteWholeFile(path_, "first").ok());
  ASSERT_TRUE(WriteWholeFile(path_, "second").ok());
  EXPECT_EQ(ReadFile(path_), "second");
  EXPECT_EQ(NumFiles(), 1u);
}

TEST_F(WholeFileTest, SaysWhyItCannotWrite) {
  const Status status = WriteWholeFile("/no-such-folder/a.npz", "content");
  EXPECT_EQ(status.message(), "/no-such-folder/a.npz: cannot be written: No such file or directory");
}

TEST_F(WholeFileTest, ALinkInThePlaceOfTheFileOrOfThePartIsNotFollowed) {
  const std::string precious = folder_ + "/precious";
  ASSERT_TRUE(WriteWholeFile(precious, "precious").ok());
  ASSERT_EQ(symlink(precious.c_str(), path_.c_str()), 0);
  ASSERT_EQ(symlink(precious.c_str(), (path_ + ".part").c_str()), 0);
  ASSERT_TRUE(WriteWholeFile(path_, "content").ok());
  EXPECT_EQ(ReadFile(precious), "precious");
  EXPECT_EQ(ReadFile(path_), "content");
}

TEST_F(WholeFileTest, ADeviceOrAFolderIsNotReplaced) {
  EXPECT_FALSE(WriteWholeFile("/dev/null", "content").ok());
  EXPECT_FALSE(WriteWholeFile(folder_, "content").ok());
  struct stat facts;
  ASSERT_EQ(stat("/dev/null", &facts), 0);
  EXPECT_TRUE(S_ISCHR(facts.st_mode));
}

TEST_F(WholeFileTest, ReadersSeeNoHalfOfAFileWhileSeveralWrite) {
  const std::string contents[] = {std::string(1 << 20, 'a'), std::string(1 << 18, 'b'), std::string(1 << 19, 'c')};
  ASSERT_TRUE(WriteWholeFile(path_, contents[0]).ok());
  std::atomic<int> num_running{0};
  std::vector<std::thread> writers;
  for (const std::string& content : contents) {
    ++num_running;
    writers.emplace_back([&, this] {
      for (int i = 0; i < 50; ++i) EXPECT_TRUE(WriteWholeFile(path_, content).ok());
      --num_running;
    });
  }
  int num_damaged = 0;
  while (num_running > 0) {
    const std::string seen = ReadFile(path_);
    num_damaged += seen != contents[0] && seen != contents[1] && seen != contents[2];
  }
  for (std::thread& writer : writers) writer.join();
  EXPECT_EQ(num_damaged, 0);
  EXPECT_EQ(NumFiles(), 1u);
}

}  // namespace
}  // namespace gmlake
