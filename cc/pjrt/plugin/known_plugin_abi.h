// The entries and extensions of the plugin that we know beyond the header of our build. PJRT grows at the end of its
// table, by extensions, and at the end of extensions, and each addition may reach device memory. Every one in the
// plugins of JAX 0.10 to 0.12 was examined and is gated or harmless (docs/sleep.md says which and why).
#ifndef GMLAKE_PJRT_PLUGIN_KNOWN_PLUGIN_ABI_H_
#define GMLAKE_PJRT_PLUGIN_KNOWN_PLUGIN_ABI_H_

#include <cstddef>

#include "cc/base/status.h"
#include "cc/pjrt/patch/table_edit.h"
#include "xla/pjrt/c/pjrt_c_api.h"

namespace gmlake {

// Numbers of extensions.
constexpr int kCrossHostTransfers = 12;
// Places of entries in the table.
constexpr size_t kClientLoad = 134;

// kNotSupported, with its number, if there is an entry or an extension that we do not know.
Status CheckAllKnown(const PJRT_Api& api);

// Null if the plugin does not have it.
PJRT_Extension_Base* FindExtension(const PJRT_Api& api, int type);

// The entry at a place of the table; null if it ends before.
void** EntryAt(PJRT_Api* api, size_t place);

// `entry` is `ours` from now on, if the plugin has it: an older one's table may end before it.
template <typename Function>
Status ReplaceIfThere(PJRT_Api* api, TableEdit* edit, Function* PJRT_Api::* entry, NoThrow<Function> ours) {
  Function** const word = &(api->*entry);
  const auto end = reinterpret_cast<const char*>(word + 1) - reinterpret_cast<const char*>(api);
  const bool is_there = end <= static_cast<std::ptrdiff_t>(api->struct_size) && *word != nullptr;
  return is_there ? edit->Replace(word, ours) : OkStatus();
}

}  // namespace gmlake

#endif  // GMLAKE_PJRT_PLUGIN_KNOWN_PLUGIN_ABI_H_
