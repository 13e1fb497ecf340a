// The entries through which JAX asks for device memory, tried again where the host has made room for it (on_oom).
//
// Why here and not where memory is handed out: XLA holds a lock of its own around that call, and needs it to free a
// buffer. Whoever wants to free something for a request must let the request fail first.
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
