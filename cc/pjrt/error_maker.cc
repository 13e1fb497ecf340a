#include "cc/pjrt/error_maker.h"

namespace gmlake {

PJRT_Error* MakeError(const PJRT_Api& stock, ErrorTexts* texts, const std::string& text) {
  PJRT_Device_LocalHardwareId_Args args = {};  // a struct of no size: from a caller older than any
  PJRT_Error* const error = stock.PJRT_Device_LocalHardwareId(&args);
  if (error != nullptr) texts->Set(error, text);
  return error;
}

}  // namespace gmlake
