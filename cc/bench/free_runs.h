// Free memory as address runs that coalesce, found by best fit: the common ground of the models of other allocators.
#ifndef GMLAKE_BENCH_FREE_RUNS_H_
#define GMLAKE_BENCH_FREE_RUNS_H_

#include <map>
#include <optional>
#include <set>
#include <utility>

#include "cc/base/bytes.h"

namespace gmlake::bench {

struct Run {
  Address start;
  Bytes size;
};

// Invariant: runs neither overlap nor touch. Cost: O(log runs) a call.
class FreeRuns {
 public:
  // Adds free memory, joined with the runs that touch it.
  void Add(Address start, Bytes size);
  // Takes [start, start + size), which must lie inside one run.
  void Take(Address start, Bytes size);
  // The smallest run of at least `size`, the lowest of equals.
  std::optional<Run> BestFit(Bytes size) const;
  // True where all of [start, start + size) is free.
  bool Contains(Address start, Bytes size) const;
  Bytes total() const { return total_; }
  // All runs, smallest first.
  const std::set<std::pair<Bytes, Address>>& by_size() const { return by_size_; }

 private:
  using ByAddress = std::map<Address, Bytes>;
  void Insert(Address start, Bytes size);
  void Erase(ByAddress::iterator run);

  ByAddress by_address_;
  std::set<std::pair<Bytes, Address>> by_size_;
  Bytes total_;
};

}  // namespace gmlake::bench

#endif  // GMLAKE_BENCH_FREE_RUNS_H_
