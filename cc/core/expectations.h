// The sizes that are soon to be asked for, as far as somebody has said so.
#ifndef GMLAKE_CORE_EXPECTATIONS_H_
#define GMLAKE_CORE_EXPECTATIONS_H_

#include <algorithm>
#include <cstdint>
#include <vector>

#include "cc/base/bytes.h"

namespace gmlake {

// Model: a few sizes, each once, the latest last; what is expected first is forgotten first. A size is looked at once
// for each state of the free memory, told by its tick (Memory::ticks), and given up after so many looks. Thread rule:
// the allocator's lock. Cost: a step per size.
class Expectations {
 public:
  static constexpr size_t kMost = 8;
  static constexpr int kMostLooks = 64;

  bool empty() const { return sizes_.empty(); }

  void Add(Bytes size) {
    Remove(size);
    if (sizes_.size() == kMost) sizes_.erase(sizes_.begin());
    sizes_.push_back({size});
  }

  void Remove(Bytes size) {
    sizes_.erase(
        std::remove_if(sizes_.begin(), sizes_.end(), [size](const Entry& entry) { return entry.size == size; }),
        sizes_.end());
  }

  // The latest size that was not looked at in this state; zero if there is none.
  Bytes Next(int64_t tick) {
    for (auto entry = sizes_.rbegin(); entry != sizes_.rend(); ++entry) {
      if (entry->tick != tick) return Look(&*entry, tick);
    }
    return Bytes(0);
  }

 private:
  struct Entry {
    Bytes size;
    int64_t tick = -1;
    int looks = 0;
  };

  Bytes Look(Entry* entry, int64_t tick) {
    const Bytes size = entry->size;
    entry->tick = tick;
    if (++entry->looks == kMostLooks) Remove(size);
    return size;
  }

  std::vector<Entry> sizes_;
};

}  // namespace gmlake

#endif  // GMLAKE_CORE_EXPECTATIONS_H_
