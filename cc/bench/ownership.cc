#include "cc/bench/ownership.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace gmlake::bench {
namespace {

Status Violation(const char* what) { return Status(StatusCode::kFailedPrecondition, what); }

bool IsSame(const ModelDriver::Extent& a, const ModelDriver::Extent& b) {
  return a.block == b.block && a.offset == b.offset && a.size == b.size;
}

}  // namespace

bool Ownership::Insert(const ModelDriver::Extent& extent) {
  const auto key = std::make_pair(extent.block, extent.offset);
  const auto next = owned_.lower_bound(key);
  if (next != owned_.end() && next->first.first == extent.block && next->first.second < extent.offset + extent.size) {
    return false;
  }
  if (next != owned_.begin()) {
    const auto& [before, size] = *std::prev(next);
    if (before.first == extent.block && before.second + size > extent.offset) return false;
  }
  owned_.emplace_hint(next, key, extent.size);
  return true;
}

Status Ownership::Claim(Address address, Bytes size) {
  Extents extents = driver_->Resolve(address, size);
  if (extents.empty()) return Violation("leased memory is not accessible");
  for (const auto& extent : extents) {
    if (!Insert(extent)) return Violation("leased memory belongs to another lease");
  }
  leases_.emplace(address.value(), std::move(extents));
  return OkStatus();
}

Status Ownership::Return(Address address, Bytes size) {
  const auto lease = leases_.find(address.value());
  if (lease == leases_.end()) return Violation("no such lease");
  const Extents now = driver_->Resolve(address, size);
  const Extents& then = lease->second;
  if (!std::equal(now.begin(), now.end(), then.begin(), then.end(), IsSame)) {
    return Violation("the memory behind a live lease has changed");
  }
  for (const auto& extent : then) owned_.erase({extent.block, extent.offset});
  leases_.erase(lease);
  return OkStatus();
}

}  // namespace gmlake::bench
