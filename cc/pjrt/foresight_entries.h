// The entries through which programs are compiled or loaded: what a program will ask for is known there, before it
// first runs, and the devices are told to expect it. Only a hint: no error comes of it, whatever the plugin answers.
#ifndef GMLAKE_PJRT_FORESIGHT_ENTRIES_H_
#define GMLAKE_PJRT_FORESIGHT_ENTRIES_H_

#include "cc/base/status.h"
#include "cc/pjrt/device_registry.h"
#include "cc/pjrt/table_edit.h"
#include "xla/pjrt/c/pjrt_c_api.h"

namespace gmlake {

// To be called after all others that replace these entries of `api`: the present ones are called. `stock` answers
// questions.
Status WrapForesightEntries(const PJRT_Api& stock, DeviceRegistry* registry, PJRT_Api* api, TableEdit* edit);

}  // namespace gmlake

#endif  // GMLAKE_PJRT_FORESIGHT_ENTRIES_H_
