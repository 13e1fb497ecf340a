// The time of a deterministic run on a machine that does other things too: each stretch at its fastest.
//
// A run is a sequence of short stretches, the same in every repeat. Interruptions hit different stretches each time, so
// the sum of the fastest ones comes close to an undisturbed run where no whole run is undisturbed.
#ifndef GMLAKE_BENCH_FASTEST_H_
#define GMLAKE_BENCH_FASTEST_H_

#include <algorithm>
#include <chrono>
#include <numeric>
#include <vector>

namespace gmlake::bench {

class Fastest {
 public:
  using Times = std::vector<std::chrono::nanoseconds>;

  // The stretches of one more run.
  void Add(const Times& times) {
    if (best_.empty()) best_ = times;
    for (size_t i = 0; i < best_.size(); ++i) best_[i] = std::min(best_[i], times[i]);
  }
  std::chrono::nanoseconds total() const {
    return std::accumulate(best_.begin(), best_.end(), std::chrono::nanoseconds(0));
  }

 private:
  Times best_;
};

}  // namespace gmlake::bench

#endif  // GMLAKE_BENCH_FASTEST_H_
