#include "cc/safety/shadow.h"

#include <algorithm>

namespace gmlake {
namespace {

bool Same(const std::vector<FakeDriver::Extent>& a, const std::vector<FakeDriver::Extent>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const FakeDriver::Extent& x, const FakeDriver::Extent& y) {
                      return x.block == y.block && x.offset == y.offset && x.size == y.size;
                    });
}

// The size that the driver is asked about: an empty request still gets an address of its own.
Bytes Reach(Bytes size) { return std::max(size, Bytes(1)); }

}  // namespace

void Shadow::Begin(Address address, Bytes size, StreamHandle stream) {
  Lease lease{address, size, ++granted_, {stream}, driver_->Resolve(address, Reach(size))};
  if (address.value() % 256 != 0) problem_ = "a lease is not aligned to 256 bytes";
  if (lease.extents.empty()) problem_ = "a lease reaches bytes that are not mapped and accessible";
  Claim(lease);
  requested_ += size;
  leases_.push_back(std::move(lease));
}

void Shadow::Claim(const Lease& lease) {
  for (const FakeDriver::Extent& extent : lease.extents) {
    const Place from{extent.block, extent.offset.count()};
    const int64_t end = (extent.offset + extent.size).count();
    auto next = holds_.lower_bound(from);
    const bool meets_next = next != holds_.end() && next->first.first == extent.block && next->first.second < end;
    const bool meets_previous = next != holds_.begin() && std::prev(next)->first.first == extent.block &&
                                std::prev(next)->second.end > extent.offset.count();
    if (meets_next || meets_previous) problem_ = "a physical byte has two live owners";
    holds_[from] = {end, lease.owner};
  }
}

void Shadow::End(size_t index) {
  Lease& lease = leases_[index];
  for (const FakeDriver::Extent& extent : lease.extents) holds_.erase({extent.block, extent.offset.count()});
  requested_ -= lease.size;
  ++ended_;
  lease = std::move(leases_.back());
  leases_.pop_back();
}

void Shadow::FindAgain() {
  holds_.clear();
  for (Lease& lease : leases_) {
    lease.extents = driver_->Resolve(lease.address, Reach(lease.size));
    if (lease.extents.empty()) problem_ = "a lease that woke up reaches bytes that are not mapped and accessible";
    Claim(lease);
  }
  checked_changes_ = driver_->num_mapping_changes();
}

std::string Shadow::Check() {
  if (!problem_.empty()) return problem_;
  const std::vector<std::string> violations = driver_->violations();
  if (!violations.empty()) return "the driver saw: " + violations.front();
  std::string problem = CheckMappings();
  if (problem.empty()) problem = CheckStats();
  if (problem.empty()) problem = allocator_->CheckInvariants();
  return problem;
}

// Invariant 2: what an owner reaches never changes while it owns.
std::string Shadow::CheckMappings() {
  if (checked_changes_ == driver_->num_mapping_changes() || allocator_->IsAsleep()) return "";
  checked_changes_ = driver_->num_mapping_changes();
  for (const Lease& lease : leases_) {
    if (!Same(driver_->Resolve(lease.address, Reach(lease.size)), lease.extents)) {
      return "a live lease reaches other bytes than when it was handed out";
    }
  }
  return "";
}

std::string Shadow::CheckStats() const {
  const AllocatorStats stats = allocator_->Stats();
  std::string problem = CheckBytes(stats);
  return problem.empty() ? CheckCounts(stats) : problem;
}

// Invariants 7 and 8: the numbers are the device's numbers and ours.
std::string Shadow::CheckBytes(const AllocatorStats& stats) const {
  if (stats.bytes_reserved != driver_->memory_in_use()) return "bytes_reserved is not what the device gave";
  if (stats.bytes_reserved > stats.bytes_limit) return "more bytes are held than the limit allows";
  if (stats.bytes_requested != requested_) return "bytes_requested is not the sum of the live requests";
  if (stats.bytes_in_use < requested_) return "bytes_in_use is less than what was asked for";
  if (stats.bytes_in_use + stats.bytes_pending + stats.bytes_quarantined > stats.bytes_reserved + stats.bytes_asleep) {
    return "bytes in use, pending and in quarantine exceed what is held";
  }
  return CheckPeaks(stats);
}

std::string Shadow::CheckPeaks(const AllocatorStats& stats) const {
  if (stats.peak_bytes_in_use < stats.bytes_in_use) return "peak_bytes_in_use is below bytes_in_use";
  if (stats.peak_bytes_reserved < stats.bytes_reserved) return "peak_bytes_reserved is below bytes_reserved";
  if (stats.bytes_addresses > driver_->reserved_addresses()) return "more addresses are counted than reserved";
  if (stats.peak_bytes_requested < requested_) return "peak_bytes_requested is below bytes_requested";
  return "";
}

std::string Shadow::CheckCounts(const AllocatorStats& stats) const {
  int64_t ways = 0;
  for (const WayStats& way : stats.by_way) ways += way.count;
  if (ways != granted_) return "the ways do not add up to the requests served";
  if (stats.num_allocs != granted_ || stats.num_frees != ended_) return "num_allocs or num_frees is wrong";
  if (stats.num_live != static_cast<int64_t>(leases_.size())) return "num_live is not the number of live leases";
  if (stats.num_failures != refused_) return "num_failures is not the number of refused requests";
  return "";
}

}  // namespace gmlake
