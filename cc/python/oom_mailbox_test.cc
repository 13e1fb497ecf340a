#include "cc/python/oom_mailbox.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

namespace gmlake {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kPatience(40'000);

OomNote Note(int64_t asked) {
  OomNote note;
  note.asked_bytes = asked;
  return note;
}

TEST(OomMailboxTest, CarriesAQuestionAndItsAnswer) {
  OomMailbox mailbox;
  for (bool answer : {true, false}) {
    std::thread answerer([&] {
      const std::optional<OomNote> note = mailbox.Next(kPatience);
      ASSERT_TRUE(note.has_value());
      EXPECT_EQ(note->asked_bytes, 42);
      mailbox.Answer(answer);
    });
    EXPECT_EQ(mailbox.Ask(Note(42), kPatience), answer ? OomAnswer::kYes : OomAnswer::kNo);
    answerer.join();
  }
}

TEST(OomMailboxTest, NobodyThereIsNo) {
  OomMailbox mailbox;
  EXPECT_EQ(mailbox.Ask(Note(1), milliseconds(1)), OomAnswer::kNo);
  EXPECT_FALSE(mailbox.Next(milliseconds(1)).has_value()) << "a question whose asker has left is gone";
}

TEST(OomMailboxTest, AnAnswerThatComesTooLateIsNotTheNextOnes) {
  OomMailbox mailbox;
  mailbox.Answer(true);
  EXPECT_EQ(mailbox.Ask(Note(1), milliseconds(1)), OomAnswer::kNo);
}

// Again and again: who is not waiting yet hears nothing.
TEST(OomMailboxTest, WhoWaitsForAQuestionCanBeWoken) {
  OomMailbox mailbox;
  std::optional<OomNote> note = Note(1);
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

TEST(OomMailboxTest, WhatTheAnsweringThreadAsksItselfIsNoAtOnce) {
  OomMailbox mailbox;
  std::thread answerer([&] {
    ASSERT_TRUE(mailbox.Next(kPatience).has_value());
    EXPECT_EQ(mailbox.Ask(Note(2), kPatience), OomAnswer::kNo);
    mailbox.Answer(true);
  });
  EXPECT_EQ(mailbox.Ask(Note(1), kPatience), OomAnswer::kYes);
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

  std::optional<OomNote> second_question;
  OomAnswer answers[2] = {OomAnswer::kNo, OomAnswer::kNo};

 private:
  OomMailbox mailbox_;
};

TEST(OomMailboxTest, WhoAsksMeanwhileIsAskedAboutAfterANo) {
  const TwoAskers askers(false, true);
  ASSERT_TRUE(askers.second_question.has_value());
  EXPECT_EQ(askers.second_question->asked_bytes, 2);
  EXPECT_EQ(askers.answers[0], OomAnswer::kNo);
  EXPECT_EQ(askers.answers[1], OomAnswer::kYes);
}

TEST(OomMailboxTest, WhoAsksMeanwhileTriesAgainAfterAYesToAnother) {
  const TwoAskers askers(true, false);
  EXPECT_FALSE(askers.second_question.has_value());
  EXPECT_EQ(askers.answers[0], OomAnswer::kYes);
  EXPECT_EQ(askers.answers[1], OomAnswer::kMeanwhile);
}

}  // namespace
}  // namespace gmlake
