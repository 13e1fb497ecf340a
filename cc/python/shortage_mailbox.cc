#include "cc/python/shortage_mailbox.h"

#include <utility>

namespace gmlake {

bool ShortageMailbox::Ask(const ShortageNote& note, std::chrono::milliseconds patience) {
  std::unique_lock<std::mutex> lock(mutex_);
  if (asking_) return false;
  asking_ = true;
  question_ = note;
  answer_.reset();
  changed_.notify_all();
  const bool answered = changed_.wait_for(lock, patience, [this] { return answer_.has_value(); });
  question_.reset();
  asking_ = false;
  return answered && *answer_;
}

std::optional<ShortageNote> ShortageMailbox::Next(std::chrono::milliseconds patience) {
  std::unique_lock<std::mutex> lock(mutex_);
  const int64_t wakes = wakes_;
  changed_.wait_for(lock, patience, [&] { return question_.has_value() || wakes_ != wakes; });
  return std::exchange(question_, std::nullopt);
}

void ShortageMailbox::Answer(bool may_retry) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (asking_ && !question_.has_value()) answer_ = may_retry;
  changed_.notify_all();
}

void ShortageMailbox::Wake() {
  const std::lock_guard<std::mutex> lock(mutex_);
  ++wakes_;
  changed_.notify_all();
}

}  // namespace gmlake
