#include "cc/pjrt/patch/table_edit.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <string>

namespace gmlake {
namespace {

using Entry = int();

int Stock() { return 0; }
int Ours() { return 1; }
int OursToo() { return 2; }
int Theirs() { return 3; }

constexpr NoThrow<Entry> kOurs = ExceptionBarrier<&Ours, AnswerAsCApi>::Wrap();
constexpr NoThrow<Entry> kOursToo = ExceptionBarrier<&OursToo, AnswerAsCApi>::Wrap();

TEST(TableEditTest, PutsEveryWordBackThatItReplaced) {
  Entry* words[] = {&Stock, nullptr, &Theirs};
  TableEdit edit;
  for (Entry*& word : words) EXPECT_TRUE(edit.Replace(&word, kOurs).ok());
  EXPECT_EQ(words[1](), 1);
  EXPECT_TRUE(edit.Undo().ok());
  EXPECT_EQ(words[0], &Stock);
  EXPECT_EQ(words[1], nullptr);
  EXPECT_EQ(words[2], &Theirs);
}

TEST(TableEditTest, AWordThatWasReplacedTwiceIsWhatItWasAtFirst) {
  Entry* word = &Stock;
  TableEdit edit;
  EXPECT_TRUE(edit.Replace(&word, kOurs).ok());
  EXPECT_TRUE(edit.Replace(&word, kOursToo).ok());
  EXPECT_TRUE(edit.Undo().ok());
  EXPECT_EQ(word, &Stock);
}

TEST(TableEditTest, AWordThatSomebodyElseReplacedAfterUsIsLeftToHim) {
  Entry* words[] = {&Stock, &Stock};
  TableEdit edit;
  for (Entry*& word : words) EXPECT_TRUE(edit.Replace(&word, kOurs).ok());
  words[1] = &Theirs;
  const Status undone = edit.Undo();
  EXPECT_NE(undone.message().find("replaced 1 of our entries"), std::string::npos) << undone.message();
  EXPECT_EQ(words[0], &Stock);
  EXPECT_EQ(words[1], &Theirs);
}

TEST(TableEditTest, UndoneOnceThereIsNothingLeftToUndo) {
  Entry* word = &Stock;
  TableEdit edit;
  EXPECT_TRUE(edit.Replace(&word, kOurs).ok());
  EXPECT_TRUE(edit.Undo().ok());
  word = &Ours;
  EXPECT_TRUE(edit.Undo().ok());
  EXPECT_EQ(word, &Ours);
}

TEST(TableEditTest, WordsOnAReadOnlyPageAreReplacedAndPutBackAndThePageStaysReadOnly) {
  const size_t size = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  void* const page = mmap(nullptr, size, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  Entry** const word = static_cast<Entry**>(page);
  TableEdit edit;
  EXPECT_TRUE(edit.Replace(word, kOurs).ok());
  EXPECT_EQ(*word, kOurs.get());
  EXPECT_TRUE(edit.Undo().ok());
  EXPECT_EQ(*word, nullptr);
  EXPECT_EQ(ProtectionOf(page), PROT_READ);
  munmap(page, size);
}

}  // namespace
}  // namespace gmlake
