// Which parts of a line of addresses (or of a file) are free.
#ifndef GMLAKE_EMULATOR_MEMORY_FREE_LIST_H_
#define GMLAKE_EMULATOR_MEMORY_FREE_LIST_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>

namespace gmlake::emulator {

// Free pieces, never adjacent, never overlapping. Thread rule: the owner's lock. Cost: linear in the pieces to take,
// logarithmic to give.
class FreeList {
 public:
  // Adds a piece, joined with its neighbours.
  void Give(uint64_t begin, uint64_t size);
  // Takes exactly this range, all of which must be free.
  void Take(uint64_t begin, uint64_t size);
  // Whether all of this range is free.
  bool Holds(uint64_t begin, uint64_t size) const;

  // Takes `size` from the smallest piece that has it.
  std::optional<uint64_t> TakeBestFit(uint64_t size);
  // Takes an aligned piece at or after `from`, or failing that the first one anywhere.
  std::optional<uint64_t> TakeNextFit(uint64_t size, uint64_t alignment, uint64_t from);
  // Takes at most `size` from the lowest piece; `taken` says how much.
  std::optional<uint64_t> TakeFirst(uint64_t size, uint64_t* taken);

  uint64_t largest() const;
  const std::map<uint64_t, uint64_t>& pieces() const { return pieces_; }

 private:
  std::optional<uint64_t> FirstAligned(uint64_t size, uint64_t alignment, uint64_t from) const;

  std::map<uint64_t, uint64_t> pieces_;  // begin -> size
};

}  // namespace gmlake::emulator

#endif  // GMLAKE_EMULATOR_MEMORY_FREE_LIST_H_
