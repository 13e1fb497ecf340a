// A bounded log of freed intervals, for a search that looks only at what has changed.
//
// Every free appends to it. A full log takes no more entries; the reader then knows only that it missed some. In a
// steady step nobody reads the log, so it is full and nothing is written.
#ifndef GMLAKE_CORE_TABLES_FREE_LOG_H_
#define GMLAKE_CORE_TABLES_FREE_LOG_H_

#include <array>
#include <cstddef>

#include "cc/base/bytes.h"

namespace gmlake {

// Model: intervals of home addresses, in the order in which they came free; they may be in use again. Thread rule: the
// allocator's lock. Cost: a comparison, and a write unless it is full.
class FreeLog {
 public:
  static constexpr size_t kMost = 256;
  struct Interval {
    Address from;
    Address to;
  };

  void Add(Address from, Address to) {
    if (count_ < kMost) intervals_[count_++] = {from, to};
  }
  void Clear() { count_ = 0; }

  // Is everything in it that came free?
  bool complete() const { return count_ < kMost; }
  size_t count() const { return count_; }
  const Interval* begin() const { return intervals_.data(); }
  const Interval* end() const { return intervals_.data() + count_; }

 private:
  size_t count_ = 0;
  std::array<Interval, kMost> intervals_;
};

}  // namespace gmlake

#endif  // GMLAKE_CORE_TABLES_FREE_LOG_H_
