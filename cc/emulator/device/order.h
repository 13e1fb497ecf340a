// Which work comes before which, and whether two pieces of it that nothing orders meet in the same bytes.
//
// Only copies and fills are looked at: what a kernel does with its pointers is not known.
#ifndef GMLAKE_EMULATOR_DEVICE_ORDER_H_
#define GMLAKE_EMULATOR_DEVICE_ORDER_H_

#include <cstdint>
#include <map>
#include <vector>

#include "cc/emulator/device/operation.h"
#include "cc/emulator/memory/physical_blocks.h"

namespace gmlake::emulator {

// How far the work of each queue, by its id, is over before a certain point. What is not named is not known to be.
class Clock {
 public:
  void Advance(uint64_t queue, uint64_t number);
  void Merge(const Clock& other);
  bool IsAfter(uint64_t queue, uint64_t number) const;

 private:
  std::map<uint64_t, uint64_t> until_;
};

// Bytes that work reads or writes: of a physical block, whatever address led there, or at an address that is no
// mapping.
struct Place {
  BlockHandle block;  // 0: none, and `begin` is an address
  uint64_t begin, end;
  bool is_write;
};

// Those of the operation's copies and fills, its graph's included. Takes the machine's lock.
std::vector<Place> PlacesOf(const Operation& operation);

// Whether a byte is in both, and one of the two writes it.
bool Collide(const std::vector<Place>& some, const std::vector<Place>& others);

}  // namespace gmlake::emulator

#endif  // GMLAKE_EMULATOR_DEVICE_ORDER_H_
