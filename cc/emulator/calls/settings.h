// What the emulated machine is like. Read from the environment once, here and nowhere else.
//
//   GMLAKE_EMULATOR_DEVICES=1           number of devices
//   GMLAKE_EMULATOR_MEMORY=1GiB         memory of each device (bytes, or with KiB, MiB, GiB)
//   GMLAKE_EMULATOR_ASYNC=0             1: every stream is a thread; 0: work runs inside the call that queues it
//   GMLAKE_EMULATOR_DELAY_US=0          pause before each piece of queued work
//   GMLAKE_EMULATOR_CHECKS=1            0: queued work is not checked against the memory it touches
//   GMLAKE_EMULATOR_FAULTS=             which calls fail or are slow (faults.h has the grammar)
//   GMLAKE_EMULATOR_DOUBLE_UNMAP=accept refuse: unmapping what is not mapped is a violation. A real driver accepts
//                                       it, and XLA's `vmm` allocator does it for every range.
//   GMLAKE_EMULATOR_POOL=right          hasty: a pool that is wrong on purpose. It takes memory back, and unmaps it,
//   when
//                                       the free is called instead of when its turn comes. Tests of the checks use it.
//   GMLAKE_EMULATOR_POISON=             byte (0 to 255) that fills new memory; without it, new memory is zero
//   GMLAKE_EMULATOR_SHARED=             file through which processes share the devices: what one holds the others lack
//   GMLAKE_EMULATOR_LOG=                file for messages (default: stderr)
//   GMLAKE_EMULATOR_TRACE=0             1: every call is logged by name
//   CUDA_VISIBLE_DEVICES                which devices the process sees, as for a real driver (visible_devices.h)
#ifndef GMLAKE_EMULATOR_CALLS_SETTINGS_H_
#define GMLAKE_EMULATOR_CALLS_SETTINGS_H_

#include <cstdint>
#include <string>
#include <vector>

namespace gmlake::emulator {

struct Settings {
  int devices = 1;           // of the machine
  std::vector<int> visible;  // the numbers of those that the process sees
  size_t memory = size_t{1} << 30;
  bool async = false;
  int64_t delay_us = 0;
  bool checks = true;
  std::string faults;
  bool refuse_double_unmap = false;
  bool hasty_pool = false;
  int poison = -1;
  std::string shared;
  std::string log;
  bool trace = false;
};

// Settings as the variables that `get` returns describe them; a value that cannot be understood ends the process,
// since an emulator that silently differs from what a test asked for would make the test lie.
Settings ReadSettings(const char* (*get)(const char* name));

// The process's settings; the environment is read at the first call.
const Settings& settings();

}  // namespace gmlake::emulator

#endif  // GMLAKE_EMULATOR_CALLS_SETTINGS_H_
