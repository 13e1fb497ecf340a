#include "cc/python/shortage_mailbox.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

namespace gmlake {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kPatience(40'000);

ShortageNote Note(int64_t asked) {
  ShortageNote note;
  note.asked_bytes = asked;
  return note;
}

TEST(ShortageMailboxTest, CarriesAQuestionAndItsAnswer) {
  ShortageMailbox mailbox;
  for (bool answer : {true, false}) {
    std::thread answerer([&] {
      const std::optional<ShortageNote> note = mailbox.Next(kPatience);
      ASSERT_TRUE(note.has_value());
      EXPECT_EQ(note->asked_bytes, 42);
      mailbox.Answer(answer);
    });
    EXPECT_EQ(mailbox.Ask(Note(42), kPatience), answer ? ShortageAnswer::kYes : ShortageAnswer::kNo);
    answerer.join();
  }
}

TEST(ShortageMailboxTest, NobodyThereIsNo) {
  ShortageMailbox mailbox;
  EXPECT_EQ(mailbox.Ask(Note(1), milliseconds(1)), ShortageAnswer::kNo);
  EXPECT_FALSE(mailbox.Next(milliseconds(1)).has_value()) << "a question whose asker has left is gone";
}

TEST(ShortageMailboxTest, AnAnswerThatComesTooLateIsNotTheNextOnes) {
  ShortageMailbox mailbox;
  mailbox.Answer(true);
  EXPECT_EQ(mailbox.Ask(Note(1), milliseconds(1)), ShortageAnswer::kNo);
}

// Again and again: who is not waiting yet hears nothing.
TEST(ShortageMailboxTest, WhoWaitsForAQuestionCanBeWoken) {
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

TEST(ShortageMailboxTest, WhatTheAnsweringThreadAsksItselfIsNoAtOnce) {
  ShortageMailbox mailbox;
  std::thread answerer([&] {
    ASSERT_TRUE(mailbox.Next(kPatience).has_value());
    EXPECT_EQ(mailbox.Ask(Note(2), kPatience), ShortageAnswer::kNo);
    mailbox.Answer(true);
  });
  EXPECT_EQ(mailbox.Ask(Note(1), kPatience), ShortageAnswer::kYes);
  answerer.join();
}

// Two that ask at once, with answers given in order.
class TwoAskers {
 public:
  TwoAskers(bool first, bool second) {
    std::thread one([this] { answers[0] = mailbox_.Ask(Note(1), kPatience); });
    EXPECT_TRUE(mailbox_.Next(kPatience).has_value());
    std::atomic<bool> is_over{false};
    std::thread other([&] {
      answers[1] = mailbox_.Ask(Note(2), kPatience);
      is_over = true;
    });
    while (mailbox_.num_waiting() == 0 && !is_over) std::this_thread::yield();
    EXPECT_FALSE(is_over) << "it did not wait for its turn";
    mailbox_.Answer(first);
    one.join();
    if (!first) second_question = mailbox_.Next(kPatience);
    if (second_question.has_value()) mailbox_.Answer(second);
    other.join();
  }

  std::optional<ShortageNote> second_question;
  ShortageAnswer answers[2] = {ShortageAnswer::kNo, ShortageAnswer::kNo};

 private:
  ShortageMailbox mailbox_;
};

TEST(ShortageMailboxTest, WhoAsksMeanwhileIsAskedAboutAfterANo) {
  const TwoAskers askers(false, true);
  ASSERT_TRUE(askers.second_question.has_value());
  EXPECT_EQ(askers.second_question->asked_bytes, 2);
  EXPECT_EQ(askers.answers[0], ShortageAnswer::kNo);
  EXPECT_EQ(askers.answers[1], ShortageAnswer::kYes);
}

TEST(ShortageMailboxTest, WhoAsksMeanwhileTriesAgainAfterAYesToAnother) {
  const TwoAskers askers(true, false);
  EXPECT_FALSE(askers.second_question.has_value());
  EXPECT_EQ(askers.answers[0], ShortageAnswer::kYes);
  EXPECT_EQ(askers.answers[1], ShortageAnswer::kMeanwhile);
}

}  // namespace
}  // namespace gmlake
