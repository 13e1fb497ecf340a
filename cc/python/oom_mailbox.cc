#include "cc/python/oom_mailbox.h"

#include <utility>

namespace gmlake {

OomAnswer OomMailbox::Ask(const OomNote& note, std::chrono::milliseconds patience) {
  std::unique_lock<std::mutex> lock(mutex_);
  if (answerer_ == std::this_thread::get_id()) return OomAnswer::kNo;
  if (!WaitForTurn(&lock)) return OomAnswer::kMeanwhile;
  asking_ = true;
  question_ = note;
  answer_.reset();
  changed_.notify_all();
  changed_.wait_for(lock, patience, [this] { return answer_.has_value(); });
  const bool yes = answer_.value_or(false);
  if (yes) ++yeses_;
  question_.reset();
  asking_ = false;
  changed_.notify_all();
  return yes ? OomAnswer::kYes : OomAnswer::kNo;
}

bool OomMailbox::WaitForTurn(std::unique_lock<std::mutex>* lock) {
  const int64_t yeses = yeses_;
  ++waiting_;
  changed_.wait(*lock, [&] { return !asking_ || yeses_ != yeses; });
  --waiting_;
  return yeses_ == yeses;
}

std::optional<OomNote> OomMailbox::Next(std::chrono::milliseconds patience) {
  std::unique_lock<std::mutex> lock(mutex_);
  const int64_t wakes = wakes_;
  changed_.wait_for(lock, patience, [&] { return question_.has_value() || wakes_ != wakes; });
  if (question_.has_value()) answerer_ = std::this_thread::get_id();
  return std::exchange(question_, std::nullopt);
}

void OomMailbox::Answer(bool may_retry) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (asking_ && !question_.has_value()) answer_ = may_retry;
  answerer_ = {};
  changed_.notify_all();
}

int OomMailbox::num_waiting() {
  const std::lock_guard<std::mutex> lock(mutex_);
  return waiting_;
}

void OomMailbox::Wake() {
  const std::lock_guard<std::mutex> lock(mutex_);
  ++wakes_;
  changed_.notify_all();
}

}  // namespace gmlake
