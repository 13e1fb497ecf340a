// Our statistics in the form of PJRT_Device_MemoryStats, which JAX shows as `device.memory_stats()`.
#ifndef GMLAKE_PJRT_PLUGIN_MEMORY_STATS_H_
#define GMLAKE_PJRT_PLUGIN_MEMORY_STATS_H_

#include "xla/pjrt/c/pjrt_c_api.h"
#include "xla/tsl/framework/allocator.h"

namespace gmlake {

// Writes every number that the caller's version of the struct has room for, and that it is set. A field that a later
// version added is left as the stock plugin wrote it.
void WriteMemoryStats(const tsl::AllocatorStats& stats, PJRT_Device_MemoryStats_Args* args);

// For a stock plugin that has no answer: no number is set.
void ClearMemoryStats(PJRT_Device_MemoryStats_Args* args);

}  // namespace gmlake

#endif  // GMLAKE_PJRT_PLUGIN_MEMORY_STATS_H_
