// Writes a trace by hand: requests and frees, with the live bytes counted along the way.
#ifndef GMLAKE_BENCH_SCRIPT_H_
#define GMLAKE_BENCH_SCRIPT_H_

#include <cstdint>
#include <random>
#include <utility>
#include <vector>

#include "cc/base/bytes.h"
#include "cc/bench/trace.h"

namespace gmlake::bench {

// Model: ids count up from 0; each request comes `period_us` after the one before. Thread rule: one thread.
class Script {
 public:
  explicit Script(int64_t period_us) : period_us_(period_us) {}

  int64_t Allocate(Bytes size) {
    const int64_t id = static_cast<int64_t>(sizes_.size());
    sizes_.push_back(size);
    live_ += size;
    now_us_ += period_us_;
    events_.push_back({0, id, size.count(), 0, now_us_});
    return id;
  }
  void Free(int64_t id) {
    live_ -= sizes_[id];
    events_.push_back({1, id, sizes_[id].count(), 0, now_us_});
  }

  Bytes live() const { return live_; }
  std::vector<RawEvent> Finish() { return std::move(events_); }

 private:
  const int64_t period_us_;
  int64_t now_us_ = 0;
  Bytes live_;
  std::vector<Bytes> sizes_;
  std::vector<RawEvent> events_;
};

// Random numbers from the standard's generator; what is made of its bits is spelled out, so that a seed means the same
// everywhere.
class Dice {
 public:
  explicit Dice(uint64_t seed) : bits_(seed) {}
  // At least 0, below 1.
  double Share() { return static_cast<double>(bits_() >> 11) * 0x1p-53; }
  int64_t Below(int64_t bound) { return static_cast<int64_t>(bits_() % static_cast<uint64_t>(bound)); }
  int64_t Between(int64_t low, int64_t high) { return low + Below(high - low + 1); }
  // Log-uniform between the two.
  Bytes Size(Bytes low, Bytes high);

  // Takes a random element out of `items`.
  template <typename T>
  T Draw(std::vector<T>* items) {
    std::swap((*items)[Below(static_cast<int64_t>(items->size()))], items->back());
    T item = std::move(items->back());
    items->pop_back();
    return item;
  }

 private:
  std::mt19937_64 bits_;
};

}  // namespace gmlake::bench

#endif  // GMLAKE_BENCH_SCRIPT_H_
