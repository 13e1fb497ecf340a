#include "cc/python/oom_mailbox.h"

#include <utility>

#include "cc/base/mutex.h"

namespace gmlake {

OomAnswer OomMailbox::Ask(const OomNote& note, std::chrono::milliseconds patience) {
  const MutexLock lock(&mutex_);
  if (answerer_ == std::this_thread::get_id()) return OomAnswer::kNo;
  if (!WaitForTurn()) return OomAnswer::kMeanwhile;
  asking_ = true;
  question_ = note;
  answer_.reset();
  changed_.notify_all();
  const auto deadline = std::chrono::steady_clock::now() + patience;
  while (!answer_.has_value() && changed_.wait_until(mutex_, deadline) == std::cv_status::no_timeout) continue;
  const bool yes = answer_.value_or(false);
  if (yes) ++yeses_;
  question_.reset();
  asking_ = false;
  changed_.notify_all();
  return yes ? OomAnswer::kYes : OomAnswer::kNo;
}

bool OomMailbox::WaitForTurn() {
  const int64_t yeses = yeses_;
  ++waiting_;
  while (asking_ && yeses_ == yeses) changed_.wait(mutex_);
  --waiting_;
  return yeses_ == yeses;
}

std::optional<OomNote> OomMailbox::Next(std::chrono::milliseconds patience) {
  const MutexLock lock(&mutex_);
  const int64_t wakes = wakes_;
  const auto deadline = std::chrono::steady_clock::now() + patience;
  while (!question_.has_value() && wakes_ == wakes) {
    if (changed_.wait_until(mutex_, deadline) == std::cv_status::timeout) break;
  }
  if (question_.has_value()) answerer_ = std::this_thread::get_id();
  return std::exchange(question_, std::nullopt);
}

void OomMailbox::Answer(bool may_retry) {
  const MutexLock lock(&mutex_);
  if (asking_ && !question_.has_value()) answer_ = may_retry;
  answerer_ = {};
  changed_.notify_all();
}

int OomMailbox::num_waiting() {
  const MutexLock lock(&mutex_);
  return waiting_;
}

void OomMailbox::Wake() {
  const MutexLock lock(&mutex_);
  ++wakes_;
  changed_.notify_all();
}

}  // namespace gmlake
