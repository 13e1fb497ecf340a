#include "cc/pjrt/plugin/known_plugin_abi.h"

#include <algorithm>
#include <iterator>
#include <string>

namespace gmlake {
namespace {

constexpr size_t kKnownEntries = 143;

// As much of an extension as was looked at.
struct Known {
  int type;
  size_t size;
};

constexpr Known kHarmless[] = {
    {0, 33},    // registers custom calls, which run inside programs
    {1, 40},    // profiler
    {2, 40},    // custom partitioners, at compile time
    {3, 40},    // makes a stream wait for a buffer, or tells one to wait for
    {4, 80},    // layouts
    {5, 48},    // registers FFI handlers, which run inside programs
    {6, 40},    // describes memories
    {7, 32},    // compiles Triton
    {19, 40},   // shardings of executables
    {20, 120},  // ABI versions
    {24, 56},   // registers passes of the compiler
};
constexpr Known kGated[] = {{kCrossHostTransfers, 56}};

// A part of what is harmless is harmless. A part of what is gated is not: the gates are for the whole.
bool IsKnown(const PJRT_Extension_Base& extension) {
  const int type = static_cast<int>(extension.type);
  const size_t size = extension.struct_size;
  const auto is_harmless = [&](const Known& known) { return known.type == type && size <= known.size; };
  const auto is_gated = [&](const Known& known) { return known.type == type && size == known.size; };
  return std::any_of(std::begin(kHarmless), std::end(kHarmless), is_harmless) ||
         std::any_of(std::begin(kGated), std::end(kGated), is_gated);
}

Status Unknown(const std::string& what) {
  return Status(StatusCode::kNotSupported,
                "the CUDA plugin has " + what +
                    ", which this version of gmlake_jax does not know; what reaches a device's memory through it while "
                    "the device sleeps would not be noticed. Use an older jaxlib or a newer gmlake_jax");
}

}  // namespace

Status CheckAllKnown(const PJRT_Api& api) {
  const size_t entries = api.struct_size / sizeof(void*);
  if (entries > kKnownEntries) return Unknown("PJRT entry " + std::to_string(kKnownEntries));
  for (const PJRT_Extension_Base* at = api.extension_start; at != nullptr; at = at->next) {
    if (!IsKnown(*at)) {
      return Unknown("PJRT extension " + std::to_string(static_cast<int>(at->type)) + " of " +
                     std::to_string(at->struct_size) + " bytes");
    }
  }
  return OkStatus();
}

PJRT_Extension_Base* FindExtension(const PJRT_Api& api, int type) {
  PJRT_Extension_Base* at = api.extension_start;
  while (at != nullptr && static_cast<int>(at->type) != type) at = at->next;
  return at;
}

void** EntryAt(PJRT_Api* api, size_t place) {
  return (place + 1) * sizeof(void*) <= api->struct_size ? reinterpret_cast<void**>(api) + place : nullptr;
}

}  // namespace gmlake
