#include "cc/pjrt/plugin/error_texts.h"

#include <utility>

#include "cc/base/mutex.h"

namespace gmlake {

bool TellsOfExhaustion(const std::string& text) {
  return text.find("Out of memory while trying to allocate") != std::string::npos;
}

void ErrorTexts::Append(const std::string& line, PJRT_Error_Message_Args* args) {
  const MutexLock lock(&mutex_);
  std::string& text = texts_[args->error];
  if (text.empty()) text = std::string(args->message, args->message_size) + "\n" + line;
  args->message = text.data();
  args->message_size = text.size();
}

void ErrorTexts::Set(const PJRT_Error* error, std::string text, PJRT_Error_Code code) {
  const MutexLock lock(&mutex_);
  ours_[error] = {std::move(text), code};
}

std::optional<PJRT_Error_Code> ErrorTexts::CodeOf(const PJRT_Error* error) const {
  const MutexLock lock(&mutex_);
  const auto found = ours_.find(error);
  return found == ours_.end() ? std::nullopt : std::optional<PJRT_Error_Code>(found->second.code);
}

bool ErrorTexts::Answer(PJRT_Error_Message_Args* args) const {
  const MutexLock lock(&mutex_);
  const auto found = ours_.find(args->error);
  if (found == ours_.end()) return false;
  args->message = found->second.text.data();
  args->message_size = found->second.text.size();
  return true;
}

bool ErrorTexts::Repeat(PJRT_Error_Message_Args* args) {
  const MutexLock lock(&mutex_);
  const auto found = texts_.find(args->error);
  if (found == texts_.end()) return false;
  args->message = found->second.data();
  args->message_size = found->second.size();
  return true;
}

void ErrorTexts::Forget(const PJRT_Error* error) {
  const MutexLock lock(&mutex_);
  texts_.erase(error);
  ours_.erase(error);
}

}  // namespace gmlake
