// The entries of the plugin's extension for cross-host transfers: arrays sent to and received from devices of other
// processes, as jax.device_put does where the target is not this process's. They get the same gate as the entries of
// the table (sleep_entries.h), and each transfer is counted until it is over.
#ifndef GMLAKE_PJRT_SLEEP_CROSS_HOST_ENTRIES_H_
#define GMLAKE_PJRT_SLEEP_CROSS_HOST_ENTRIES_H_

#include "cc/base/status.h"
#include "cc/pjrt/patch/table_edit.h"
#include "xla/pjrt/c/pjrt_c_api.h"

namespace gmlake {

// Puts a gate into each, if the plugin has the extension. To be called once, when the gated entries are set up.
Status WrapCrossHostEntries(PJRT_Api* api, TableEdit* edit);

}  // namespace gmlake

#endif  // GMLAKE_PJRT_SLEEP_CROSS_HOST_ENTRIES_H_
