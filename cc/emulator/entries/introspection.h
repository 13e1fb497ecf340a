// What tests may ask of the emulated machine and tell it, as C functions beside CUDA's own. gmlake_jax/emulator.py is
// their Python face.
#ifndef GMLAKE_EMULATOR_ENTRIES_INTROSPECTION_H_
#define GMLAKE_EMULATOR_ENTRIES_INTROSPECTION_H_

#include <cstddef>
#include <cstdint>

#pragma GCC visibility push(default)
extern "C" {

int gmlake_emulator_devices();
// Of the machine, seen or not; and the CUDA ordinal of one by its place in it, or -1.
int gmlake_emulator_installed();
int gmlake_emulator_ordinal_of(int number);

// Rules broken so far: all, or by a rule's name (log.h); UINT64_MAX for a name that is no rule.
uint64_t gmlake_emulator_violations();
uint64_t gmlake_emulator_violations_of(const char* rule);
// Copies the first violations' messages, one a line, and returns the length that would have been needed.
size_t gmlake_emulator_describe_violations(char* text, size_t size);
void gmlake_emulator_reset_violations();

// How often an entry point was called, by its exact name; all calls that allocate or map; kernel launches.
uint64_t gmlake_emulator_calls(const char* name);
uint64_t gmlake_emulator_memory_calls();
uint64_t gmlake_emulator_launches();

// Physical memory of a device, in bytes.
size_t gmlake_emulator_used(int device);
size_t gmlake_emulator_peak(int device);
void gmlake_emulator_reset_peak(int device);

// Things that exist: allocations by kind (0 plain, 1 pool, 2 pinned, 3 registered), blocks, mappings, reservations.
size_t gmlake_emulator_allocations(int kind);
size_t gmlake_emulator_blocks();
size_t gmlake_emulator_mappings();
size_t gmlake_emulator_reservations();
// Unmaps of ranges that were not wholly mapped.
uint64_t gmlake_emulator_double_unmaps();

// Sets the fault script (faults.h); 0 if it is not understood.
int gmlake_emulator_set_faults(const char* script);

// Logs an entry point that is only a stub, for the other emulated libraries.
int gmlake_emulator_log_unsupported(const char* library, const char* name);

// A kernel that does not come from a module, for the emulated libcudart.
void* gmlake_emulator_host_kernel(const void* symbol, const char* name);

// Queues a collective of the emulated libnccl, which moves nothing but lets every device from 0 to `devices` - 1 reach
// both buffers, as collectives inside one process do.
int gmlake_emulator_collective(const void* from, size_t from_size, void* to, size_t to_size, int devices, void* stream);

// Frees pool memory at once instead of in stream order: the mistake that the checks must find. For tests of them.
int gmlake_emulator_free_too_early(uint64_t address);

}  // extern "C"
#pragma GCC visibility pop

#endif  // GMLAKE_EMULATOR_ENTRIES_INTROSPECTION_H_
