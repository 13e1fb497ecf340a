// Wraps the entries through which an error surfaces later than the call that caused it: events and the entries that
// make them from buffers. It notes the device of the buffer with them (origins.h).
#ifndef GMLAKE_PJRT_OOM_ORIGIN_ENTRIES_H_
#define GMLAKE_PJRT_OOM_ORIGIN_ENTRIES_H_

#include "cc/base/status.h"
#include "cc/pjrt/oom/oom_tracker.h"
#include "cc/pjrt/patch/table_edit.h"
#include "xla/pjrt/c/pjrt_c_api.h"

namespace gmlake {

// To be called after the gated entries are in place: the present entries of `api` are called.
Status WrapOriginEntries(PJRT_Api* api, TableEdit* edit);

// The error of a call that is known by the call.
void NoteOrigin(const PJRT_Error* error, const Origin& origin);
// What is known of an error whose text is asked for on this thread.
Origin OriginOf(const PJRT_Error* error);
// The error is about to be destroyed.
void ForgetOrigin(const PJRT_Error* error);

}  // namespace gmlake

#endif  // GMLAKE_PJRT_OOM_ORIGIN_ENTRIES_H_
