// Wraps the entries through which JAX asks for device memory: a call is tried again after the host has made room
// (on_oom).
//
// Not in the allocator: XLA holds a lock of its own around a request, and needs it to free a buffer. So the request
// must fail before anything can be freed for it.
#ifndef GMLAKE_PJRT_OOM_RETRY_ENTRIES_H_
#define GMLAKE_PJRT_OOM_RETRY_ENTRIES_H_

#include "cc/base/status.h"
#include "cc/pjrt/patch/table_edit.h"
#include "cc/pjrt/plugin/plugin_client.h"
#include "xla/pjrt/c/pjrt_c_api.h"

namespace gmlake {

// To be called last of all that replace entries of `api`: the present ones are called. `plugin` answers questions.
Status WrapRetryEntries(const PluginClient* plugin, PJRT_Api* api, TableEdit* edit);

}  // namespace gmlake

#endif  // GMLAKE_PJRT_OOM_RETRY_ENTRIES_H_
