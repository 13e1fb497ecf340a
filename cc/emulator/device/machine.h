// The emulated machine: its devices, their memory and the addresses where it appears.
//
// Everything that entry points share lives here, behind two locks. Order: pages, then mutex.
#ifndef GMLAKE_EMULATOR_DEVICE_MACHINE_H_
#define GMLAKE_EMULATOR_DEVICE_MACHINE_H_

#include <memory>
#include <mutex>
#include <shared_mutex>
#include <vector>

#include "cc/emulator/calls/cuda_api.h"
#include "cc/emulator/device/context.h"
#include "cc/emulator/memory/address_map.h"
#include "cc/emulator/memory/allocations.h"
#include "cc/emulator/memory/memory_pool.h"
#include "cc/emulator/memory/physical_blocks.h"
#include "cc/emulator/memory/physical_memory.h"

namespace gmlake::emulator {

struct Device {
  int number = 0;  // its place in the machine, of which the process may see a part
  CUctx_st primary_context;
  int primary_holders = 0;
  unsigned primary_flags = 0;
  std::unique_ptr<CUmemPoolHandle_st> plain;  // cuMemAlloc
  std::unique_ptr<CUmemPoolHandle_st> default_pool;
  CUmemoryPool current_pool = nullptr;
  std::vector<bool> peers;  // devices whose plain memory this one may reach
};

struct Machine {
  Machine();

  // Held shared while queued work touches memory, exclusively while mappings are taken away.
  std::shared_mutex pages;
  // Guards everything below.
  std::mutex mutex;

  AddressWindow window;
  std::vector<PhysicalMemory> memory;  // by device
  std::vector<Device> devices;
  PhysicalBlocks blocks{&memory};
  AddressMap map{&window, &blocks, &memory};
  Allocations allocations;
  std::vector<std::unique_ptr<CUmemPoolHandle_st>> pools;  // beside the devices' default pools

  int num_devices() const { return static_cast<int>(devices.size()); }
  bool has_device(int device) const { return device >= 0 && device < num_devices(); }
  // The ordinal of a device by its number; -1 if the process does not see it.
  int OrdinalOf(int number) const;
  CUmemoryPool AddPool(int device, size_t chunk, size_t limit);
  // False if it is not a pool that AddPool made.
  bool RemovePool(CUmemoryPool pool);
  // Idle pool memory above each pool's threshold goes back, as on a synchronization.
  void ReleaseIdlePoolMemory();
};

// The process's machine, made at the first call; never destroyed, because streams may outlive everything.
Machine& machine();

// Both locks, for calls that take mappings away.
class ExclusiveAccess {
 public:
  ExclusiveAccess() : pages_(machine().pages), lock_(machine().mutex) {}

 private:
  std::unique_lock<std::shared_mutex> pages_;
  std::lock_guard<std::mutex> lock_;
};

}  // namespace gmlake::emulator

#endif  // GMLAKE_EMULATOR_DEVICE_MACHINE_H_
