#include "cc/core/ranges/stitch_cache.h"

namespace gmlake {

void StitchCache::Add(Bytes request, const CachedStitch& stitch) {
  if (num_stitches_ == kMostStitches || lists_.size() == kMostStitches) Clear();
  FindOrAdd(request)->push_back(stitch);
  ++num_stitches_;
}

StitchCache::CachedStitches* StitchCache::FindOrAdd(Bytes request) {
  if (2 * (lists_.size() + 1) > slots_.size()) Double();
  Slot& slot = slots_[Locate(request)];
  if (slot.list == kNone) {
    slot = {request, static_cast<int32_t>(lists_.size())};
    lists_.emplace_back();
  }
  return &lists_[slot.list];
}

void StitchCache::Double() {
  std::vector<Slot> old(2 * slots_.size());
  old.swap(slots_);
  for (const Slot& slot : old) {
    if (slot.list != kNone) slots_[Locate(slot.request)] = slot;
  }
}

void StitchCache::Clear() {
  slots_.assign(kFewestSlots, Slot());
  lists_.clear();
  num_stitches_ = 0;
}

}  // namespace gmlake
