// The one range of host addresses that holds every device address of the emulated machine.
//
// All of it is reserved at start and inaccessible, so touching a device address that is not mapped faults, and any
// 64-bit value inside it is surely a device pointer: that is how kernel arguments are told apart from numbers.
#ifndef GMLAKE_EMULATOR_MEMORY_ADDRESS_WINDOW_H_
#define GMLAKE_EMULATOR_MEMORY_ADDRESS_WINDOW_H_

#include <cstddef>
#include <cstdint>
#include <optional>

#include "cc/emulator/memory/free_list.h"

namespace gmlake::emulator {

// Addresses are handed out going round, so that one given back is not soon used again and stale pointers show.
// Thread rule: the machine's lock.
class AddressWindow {
 public:
  AddressWindow();

  std::optional<uint64_t> Reserve(size_t size, size_t alignment);
  void Free(uint64_t begin, size_t size);
  bool Contains(uint64_t address) const { return address >= begin_ && address - begin_ < size_; }

  // Pages of the window; never outside it.
  static bool Protect(uint64_t begin, size_t size, int protection);
  // Makes the pages inaccessible and forgets what was mapped there.
  static bool Clear(uint64_t begin, size_t size);

 private:
  uint64_t begin_ = 0, size_ = 0, next_ = 0;
  FreeList free_;
};

}  // namespace gmlake::emulator

#endif  // GMLAKE_EMULATOR_MEMORY_ADDRESS_WINDOW_H_
