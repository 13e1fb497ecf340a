// Wraps the entry that runs a program: requests made meanwhile carry the program's name as a label, "jit_train_step",
// inside the user's own annotation.
#ifndef GMLAKE_PJRT_ENTRIES_LABEL_ENTRIES_H_
#define GMLAKE_PJRT_ENTRIES_LABEL_ENTRIES_H_

#include "cc/base/status.h"
#include "cc/pjrt/patch/table_edit.h"
#include "cc/pjrt/plugin/plugin_client.h"
#include "xla/pjrt/c/pjrt_c_api.h"

namespace gmlake {

// To be called last of all that replace entries of `api`: the present ones are called. `stock` answers questions.
Status WrapLabelEntries(const PluginClient* plugin, PJRT_Api* api, TableEdit* edit);

}  // namespace gmlake

#endif  // GMLAKE_PJRT_ENTRIES_LABEL_ENTRIES_H_
