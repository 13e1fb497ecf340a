#include "cc/python/library.h"

#include <gtest/gtest.h>

namespace gmlake {
namespace {

TEST(LibraryTest, TellsWhichFileIsMissing) {
  const StatusOr<Library> library = Library::Open("/nowhere/libgmlake_pjrt.so");
  ASSERT_FALSE(library.ok());
  EXPECT_NE(library.status().message().find("/nowhere/libgmlake_pjrt.so"), std::string::npos);
}

TEST(LibraryTest, RefusesALibraryThatIsNotOurs) {
  const StatusOr<Library> library = Library::Open("libc.so.6");
  ASSERT_FALSE(library.ok());
  EXPECT_NE(library.status().message().find("GmlakeGetApi"), std::string::npos);
}

}  // namespace
}  // namespace gmlake
