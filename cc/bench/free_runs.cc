#include "cc/bench/free_runs.h"

#include <iterator>

namespace gmlake::bench {

void FreeRuns::Insert(Address start, Bytes size) {
  by_address_.emplace(start, size);
  by_size_.emplace(size, start);
  total_ += size;
}

void FreeRuns::Erase(ByAddress::iterator run) {
  by_size_.erase({run->second, run->first});
  total_ -= run->second;
  by_address_.erase(run);
}

void FreeRuns::Add(Address start, Bytes size) {
  const auto next = by_address_.lower_bound(start);
  if (next != by_address_.begin()) {
    const auto before = std::prev(next);
    if (before->first + before->second == start) {
      start = before->first;
      size += before->second;
      Erase(before);
    }
  }
  if (next != by_address_.end() && next->first == start + size) {
    size += next->second;
    Erase(next);
  }
  Insert(start, size);
}

void FreeRuns::Take(Address start, Bytes size) {
  const auto run = std::prev(by_address_.upper_bound(start));
  const auto [run_start, run_size] = *run;
  const Address end = start + size, run_end = run_start + run_size;
  Erase(run);
  if (run_start < start) Insert(run_start, start - run_start);
  if (end < run_end) Insert(end, run_end - end);
}

std::optional<Run> FreeRuns::BestFit(Bytes size) const {
  const auto it = by_size_.lower_bound({size, Address()});
  if (it == by_size_.end()) return std::nullopt;
  return Run{it->second, it->first};
}

bool FreeRuns::Contains(Address start, Bytes size) const {
  const auto after = by_address_.upper_bound(start);
  if (after == by_address_.begin()) return false;
  const auto run = std::prev(after);
  return start + size <= run->first + run->second;
}

}  // namespace gmlake::bench
