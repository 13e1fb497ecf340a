// An installation that cannot replace all entries replaces none: the plugin's table lies across two pages, and the
// second can never be written.
#include <fcntl.h>
#include <sys/mman.h>

#include <cstring>

#include "cc/pjrt/patch/table_edit.h"
#include "cc/pjrt/testing/installation_fixture.h"

namespace gmlake {
namespace {

constexpr size_t kTableBytes = kEntries * sizeof(void*);

// The plugin's table, moved to where a page ends. Model: `writable` bytes of it can be written, the rest is a file that
// was opened for reading only.
class SplitTable {
 public:
  SplitTable(const void* table, size_t writable) : page_(static_cast<size_t>(sysconf(_SC_PAGESIZE))) {
    std::FILE* const file = std::tmpfile();
    std::fwrite(static_cast<const char*>(table) + writable, 1, kTableBytes - writable, file);
    std::fflush(file);
    const int readable = open(("/proc/self/fd/" + std::to_string(fileno(file))).c_str(), O_RDONLY);
    pages_ = static_cast<char*>(mmap(nullptr, 2 * page_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    mmap(pages_ + page_, page_, PROT_READ, MAP_SHARED | MAP_FIXED, readable, 0);
    std::memcpy(begin(writable), table, writable);
    begin_ = begin(writable);
    close(readable);
    std::fclose(file);
  }

  void* begin() const { return begin_; }

 private:
  char* begin(size_t writable) { return pages_ + page_ - writable; }

  const size_t page_;
  char* pages_ = nullptr;
  void* begin_ = nullptr;
};

class WholeOrNotTest : public InstallationTest {
 protected:
  std::string Extension() const {
    const PJRT_Extension_Base* const base = table_->extension_start;
    return std::string(reinterpret_cast<const char*>(base), base->struct_size);
  }
};

constexpr size_t kLastReplaced = 134;  // PJRT_Client_Load

TEST_F(WholeOrNotTest, ATableThatCannotBeReplacedToItsEndIsLeftAsItWas) {
  for (size_t words = 6; words < kEntries; words += 4) {
    InOwnProcess([this, words] {
      plugin_->offer_all();
      const std::string before(reinterpret_cast<const char*>(table_), kTableBytes);
      const std::string extension_before = Extension();
      const SplitTable split(table_, words * sizeof(void*));
      plugin_->table = split.begin();
      const bool installed = Install() == 0;
      const std::string after(static_cast<const char*>(split.begin()), kTableBytes);
      EXPECT_EQ(installed, words > kLastReplaced) << words << ": " << message_;
      if (installed) return;
      EXPECT_TRUE(after == before) << words;
      EXPECT_TRUE(Extension() == extension_before) << words;
      EXPECT_FALSE(GmlakeGetApi()->is_installed());
      EXPECT_NE(std::string(message_).find("cannot be made writable"), std::string::npos) << message_;
    });
  }
}

TEST_F(WholeOrNotTest, AnInstallationThatBrokeOffIsNotTriedAgain) {
  InOwnProcess([this] {
    plugin_->offer_all();
    const SplitTable split(table_, 64 * sizeof(void*));
    plugin_->table = split.begin();
    EXPECT_NE(Install(), 0);
    plugin_->table = nullptr;
    EXPECT_NE(Install(), 0);
    EXPECT_NE(std::string(message_).find("cannot be made writable"), std::string::npos) << message_;
  });
}

}  // namespace
}  // namespace gmlake
