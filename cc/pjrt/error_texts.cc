#include "cc/pjrt/error_texts.h"

namespace gmlake {

bool TellsOfExhaustion(const std::string& text) {
  return text.find("Out of memory while trying to allocate") != std::string::npos;
}

void ErrorTexts::Append(const std::string& line, PJRT_Error_Message_Args* args) {
  const std::lock_guard<std::mutex> lock(mutex_);
  std::string& text = texts_[args->error];
  if (text.empty()) text = std::string(args->message, args->message_size) + "\n" + line;
  args->message = text.data();
  args->message_size = text.size();
}

void ErrorTexts::Forget(const PJRT_Error* error) {
  const std::lock_guard<std::mutex> lock(mutex_);
  texts_.erase(error);
}

}  // namespace gmlake
