#include "cc/bench/bfc_model.h"

#include <algorithm>

namespace gmlake::bench {
namespace {

constexpr Bytes kAlignment(256);
constexpr Bytes kFirstRegion = MiB(2);
constexpr Bytes kLargestLeftover = MiB(128);

}  // namespace

BfcModel::BfcModel(Driver* driver, Bytes limit, Mode mode)
    : driver_(driver),
      limit_(AlignDown(limit, kAlignment)),
      next_region_(mode == Mode::kGrow ? std::min(kFirstRegion, limit_) : limit_) {}

Address BfcModel::Allocate(Bytes size, StreamHandle) {
  const Bytes rounded = AlignUp(size, kAlignment);
  const Address address = Place(rounded);
  if (!address.is_null() || !Extend(rounded)) return address;
  return Place(rounded);
}

void BfcModel::Free(Address address, StreamHandle) {
  const auto chunk = chunks_.find(address.value());
  free_.Add(address, chunk->second);
  chunks_.erase(chunk);
}

Address BfcModel::Place(Bytes rounded) {
  const auto run = free_.BestFit(rounded);
  if (!run) return Address();
  const bool splits = run->size >= rounded * 2 || run->size - rounded >= kLargestLeftover;
  const Bytes taken = splits ? rounded : run->size;
  free_.Take(run->start, taken);
  chunks_.emplace(run->start.value(), taken);
  return run->start;
}

bool BfcModel::Extend(Bytes rounded) {
  const Bytes available = limit_ - held_;
  if (rounded > available) return false;
  bool has_doubled = false;
  while (rounded > next_region_) {
    next_region_ = next_region_ * 2;
    has_doubled = true;
  }
  Bytes size = std::min(next_region_, available);
  while (!AddRegion(size)) {
    size = AlignUp(Bytes(size.count() / 10 * 9), kAlignment);
    if (size < rounded) return false;
  }
  if (!has_doubled) next_region_ = next_region_ * 2;
  return true;
}

// The driver deals in whole granules; BFC sees exactly what it asked for.
bool BfcModel::AddRegion(Bytes size) {
  const Bytes physical = AlignUp(size, driver_->granularity());
  const auto block = driver_->Create(physical);
  if (!block.ok()) return false;
  const auto start = driver_->Reserve(physical);
  if (!start.ok() || !driver_->Map(*start, physical, *block).ok() || !driver_->SetAccess(*start, physical).ok()) {
    return false;
  }
  held_ += size;
  free_.Add(*start, size);
  return true;
}

}  // namespace gmlake::bench
