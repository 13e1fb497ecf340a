// Errors of ours in the stock plugin's own form: every question that the host may ask about an error, now or in a later
// version of PJRT, is answered by the plugin; only the text and the code are ours.
#ifndef GMLAKE_PJRT_ERROR_MAKER_H_
#define GMLAKE_PJRT_ERROR_MAKER_H_

#include <string>

#include "cc/pjrt/error_texts.h"
#include "xla/pjrt/c/pjrt_c_api.h"

namespace gmlake {

// An error with this text. The plugin makes it, because it is called with arguments that it must refuse.
PJRT_Error* MakeError(const PJRT_Api& stock, ErrorTexts* texts, const std::string& text);

}  // namespace gmlake

#endif  // GMLAKE_PJRT_ERROR_MAKER_H_
