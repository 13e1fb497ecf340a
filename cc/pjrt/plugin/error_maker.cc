#include "cc/pjrt/plugin/error_maker.h"

#include <cstdio>

namespace gmlake {
namespace {

constexpr PJRT_Error_Code kCode = PJRT_Error_Code_RESOURCE_EXHAUSTED;
constexpr const char* kLine =
    "[gmlake_jax] this call failed in gmlake_jax's own code: %s; free host memory and try again";

// Set once, before the first entry is replaced.
struct Maker {
  const PluginClient* plugin = nullptr;
  ErrorTexts* texts = nullptr;
  PJRT_Error* spare = nullptr;
};

Maker maker;

}  // namespace

Status PrepareErrors(const PluginClient& plugin, ErrorTexts* texts) {
  char line[256];
  std::snprintf(line, sizeof line, kLine, "the host has no memory");
  maker.plugin = &plugin;
  maker.texts = texts;
  maker.spare = MakeError(plugin, texts, line, kCode);
  if (maker.spare != nullptr) return OkStatus();
  return Status(StatusCode::kNotSupported, "the CUDA plugin accepts calls that it should refuse");
}

PJRT_Error* MakeError(const PluginClient& plugin, ErrorTexts* texts, const std::string& text, PJRT_Error_Code code) {
  PJRT_Error* const error = plugin.ProvokeError();
  if (error != nullptr) texts->Set(error, text, code);
  return error;
}

PJRT_Error* ErrorOfException(const char* what) {
  PJRT_Error* error = nullptr;
  Attempt([&] {
    char line[512];
    std::snprintf(line, sizeof line, kLine, what);
    error = MakeError(*maker.plugin, maker.texts, line, kCode);
  });
  return error != nullptr ? error : maker.spare;
}

bool IsSpareError(const PJRT_Error* error) { return error != nullptr && error == maker.spare; }

}  // namespace gmlake
