// Makes errors of ours in the stock plugin's form. The plugin answers every question about them, also those of later
// versions of PJRT; only the text and the code are ours.
#ifndef GMLAKE_PJRT_PLUGIN_ERROR_MAKER_H_
#define GMLAKE_PJRT_PLUGIN_ERROR_MAKER_H_

#include <string>

#include "cc/base/status.h"
#include "cc/pjrt/patch/exception_barrier.h"
#include "cc/pjrt/plugin/error_texts.h"
#include "cc/pjrt/plugin/plugin_client.h"
#include "xla/pjrt/c/pjrt_c_api.h"

namespace gmlake {

// To be called once, before the first entry is replaced. Makes the error that is given out when the host has not even
// memory for an error; kNotSupported where the plugin makes none.
Status PrepareErrors(const PluginClient& plugin, ErrorTexts* texts);

// An error with this text. The plugin makes it, because it is called with arguments that it must refuse.
PJRT_Error* MakeError(const PluginClient& plugin, ErrorTexts* texts, const std::string& text,
                      PJRT_Error_Code code = PJRT_Error_Code_FAILED_PRECONDITION);

// The error of a call that an exception ended. Never null, and needs no memory if there is none.
PJRT_Error* ErrorOfException(const char* what);
// Whether it is the one that was made in advance, which is given out again and again and never destroyed.
bool IsSpareError(const PJRT_Error* error);

// Entries of the PJRT table: an error, where the entry can return one.
struct AnswerAsPjrt {
  template <typename Result, typename... Args>
  static Result Answer(const char* what, Args...) {
    if constexpr (std::is_pointer_v<Result>) return ErrorOfException(what);
  }
};

// `kEntry` as TableEdit takes it.
template <auto kEntry>
constexpr auto FencedEntry() {
  return ExceptionBarrier<kEntry, AnswerAsPjrt>::Wrap();
}

}  // namespace gmlake

#endif  // GMLAKE_PJRT_PLUGIN_ERROR_MAKER_H_
