#include "cc/python/shortage_mailbox.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

namespace gmlake {
namespace {

using std::chrono::milliseconds;

ShortageNote Note(int64_t asked) {
  ShortageNote note;
  note.asked_bytes = asked;
  return note;
}

TEST(ShortageMailboxTest, CarriesAQuestionAndItsAnswer) {
  ShortageMailbox mailbox;
  for (bool answer : {true, false}) {
    std::thread answerer([&] {
      const std::optional<ShortageNote> note = mailbox.Next(milliseconds(10'000));
      ASSERT_TRUE(note.has_value());
      EXPECT_EQ(note->asked_bytes, 42);
      mailbox.Answer(answer);
    });
    EXPECT_EQ(mailbox.Ask(Note(42), milliseconds(10'000)), answer);
    answerer.join();
  }
}

TEST(ShortageMailboxTest, NobodyThereIsNo) {
  ShortageMailbox mailbox;
  EXPECT_FALSE(mailbox.Ask(Note(1), milliseconds(1)));
  EXPECT_FALSE(mailbox.Next(milliseconds(1)).has_value()) << "a question whose asker has left is gone";
}

TEST(ShortageMailboxTest, AnAnswerThatComesTooLateIsNotTheNextOnes) {
  ShortageMailbox mailbox;
  mailbox.Answer(true);
  EXPECT_FALSE(mailbox.Ask(Note(1), milliseconds(1)));
}

// Again and again: who is not waiting yet hears nothing.
TEST(ShortageMailboxTest, WhoWaitsForAQuestionCanBeWoken) {
  constexpr milliseconds kPatience(40'000);
  ShortageMailbox mailbox;
  std::optional<ShortageNote> note = Note(1);
  std::atomic<bool> is_over{false};
  const auto begin = std::chrono::steady_clock::now();
  std::thread answerer([&] {
    note = mailbox.Next(kPatience);
    is_over = true;
  });
  for (; !is_over; std::this_thread::sleep_for(milliseconds(1))) mailbox.Wake();
  answerer.join();
  EXPECT_FALSE(note.has_value());
  EXPECT_LT(std::chrono::steady_clock::now() - begin, kPatience);
}

TEST(ShortageMailboxTest, WhoAsksMeanwhileGetsNoAtOnce) {
  ShortageMailbox mailbox;
  std::thread answerer([&] {
    ASSERT_TRUE(mailbox.Next(milliseconds(10'000)).has_value());
    EXPECT_FALSE(mailbox.Ask(Note(2), milliseconds(10'000)));
    mailbox.Answer(true);
  });
  EXPECT_TRUE(mailbox.Ask(Note(1), milliseconds(10'000)));
  answerer.join();
}

}  // namespace
}  // namespace gmlake
