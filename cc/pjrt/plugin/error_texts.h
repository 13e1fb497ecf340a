// Texts of ours for some of the plugin's errors. PJRT hands out a pointer to an error's text that is valid as long as
// the error, so the text must live as long.
#ifndef GMLAKE_PJRT_PLUGIN_ERROR_TEXTS_H_
#define GMLAKE_PJRT_PLUGIN_ERROR_TEXTS_H_

#include <optional>
#include <string>
#include <unordered_map>

#include "cc/base/mutex.h"
#include "xla/pjrt/c/pjrt_c_api.h"

namespace gmlake {

// Whether the plugin says that device memory ran out.
bool TellsOfExhaustion(const std::string& text);

// Model: errors that were given a text of ours, and that text. Threads: any.
class ErrorTexts {
 public:
  // Appends `line` to what the plugin wrote in `args`. Asking twice about one error gives the same text.
  void Append(const std::string& line, PJRT_Error_Message_Args* args);
  // Makes `text` all that there is to say about the error, and `code` its code.
  void Set(const PJRT_Error* error, std::string text, PJRT_Error_Code code);
  // The code that Set gave the error; none for any other error.
  std::optional<PJRT_Error_Code> CodeOf(const PJRT_Error* error) const;
  // Answers with the text of Set; false, and nothing done, for any other error.
  bool Answer(PJRT_Error_Message_Args* args) const;
  // If Append was called for this error: the same text again, and true.
  bool Repeat(PJRT_Error_Message_Args* args);
  // The error is about to be destroyed.
  void Forget(const PJRT_Error* error);

 private:
  struct Own {
    std::string text;
    PJRT_Error_Code code;
  };

  mutable Mutex mutex_;
  std::unordered_map<const PJRT_Error*, std::string> texts_ GMLAKE_GUARDED_BY(mutex_);
  std::unordered_map<const PJRT_Error*, Own> ours_ GMLAKE_GUARDED_BY(mutex_);
};

}  // namespace gmlake

#endif  // GMLAKE_PJRT_PLUGIN_ERROR_TEXTS_H_
