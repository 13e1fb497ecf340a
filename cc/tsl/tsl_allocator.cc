#include "cc/tsl/tsl_allocator.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace gmlake {
namespace {

Address ToAddress(const void* pointer) { return Address(reinterpret_cast<uint64_t>(pointer)); }
void* ToPointer(Address address) { return reinterpret_cast<void*>(address.value()); }

Address AlignUp(Address address, size_t alignment) {
  return Address((address.value() + alignment - 1) & ~(static_cast<uint64_t>(alignment) - 1));
}

}  // namespace

TslAllocator::TslAllocator(gmlake::Allocator* allocator, std::string name)
    : allocator_(allocator), name_(std::move(name)) {}

StatusOr<void*> TslAllocator::AllocateOnStream(size_t alignment, size_t num_bytes, StreamHandle stream) {
  if (num_bytes == 0) return Status(StatusCode::kInvalidArgument, "an allocation of 0 bytes");
  constexpr size_t kMost = std::numeric_limits<int64_t>::max();  // no device has so many, so the core refuses them
  const Bytes size(static_cast<int64_t>(std::min(num_bytes, kMost)));
  if (alignment > kCoreAlignment) return AllocateShifted(alignment, size, stream);
  GMLAKE_ASSIGN_OR_RETURN(const Address address, allocator_->Allocate(size, stream));
  return ToPointer(address);
}

// The core's alignment does not suffice: ask for so much more that an aligned address lies inside.
StatusOr<void*> TslAllocator::AllocateShifted(size_t alignment, Bytes size, StreamHandle stream) {
  const Bytes padding(static_cast<int64_t>(alignment - kCoreAlignment));
  const Bytes most(
      std::numeric_limits<int64_t>::max());  // no device has so many, so the core refuses what would overflow
  GMLAKE_ASSIGN_OR_RETURN(const Address lease, allocator_->Allocate(std::min(size, most - padding) + padding, stream));
  const Address aligned = AlignUp(lease, alignment);
  const MutexLock lock(&mutex_);
  shifted_[aligned.value()] = Shifted{lease, size};
  num_shifted_.fetch_add(1, std::memory_order_release);
  return ToPointer(aligned);
}

std::optional<TslAllocator::Shifted> TslAllocator::FindShifted(Address address) const {
  if (num_shifted_.load(std::memory_order_acquire) == 0) return std::nullopt;
  const MutexLock lock(&mutex_);
  const auto found = shifted_.find(address.value());
  if (found == shifted_.end()) return std::nullopt;
  return found->second;
}

std::optional<Address> TslAllocator::ForgetShifted(Address address) {
  if (num_shifted_.load(std::memory_order_acquire) == 0) return std::nullopt;
  const MutexLock lock(&mutex_);
  const auto found = shifted_.find(address.value());
  if (found == shifted_.end()) return std::nullopt;
  const Address lease = found->second.lease;
  shifted_.erase(found);
  num_shifted_.fetch_sub(1, std::memory_order_release);
  return lease;
}

bool TslAllocator::FreeOnStream(void* pointer, StreamHandle stream) {
  const Address address = ToAddress(pointer);
  return allocator_->Free(ForgetShifted(address).value_or(address), stream);
}

// A stream that cannot be waited for is on a device that runs nothing more; there is nobody to tell.
void TslAllocator::RetireStream(StreamHandle stream) { allocator_->RetireStream(stream).IgnoreError(); }

void* TslAllocator::AllocateRaw(size_t alignment, size_t num_bytes) {
  StatusOr<void*> pointer = AllocateOnStream(alignment, num_bytes, StreamHandle{stream_.load()});
  return pointer.ok() ? *pointer : nullptr;
}

void TslAllocator::DeallocateRaw(void* pointer) { FreeOnStream(pointer, StreamHandle{stream_.load()}); }

size_t TslAllocator::RequestedSize(const void* pointer) const {
  const Address address = ToAddress(pointer);
  if (const std::optional<Shifted> shifted = FindShifted(address)) {
    return static_cast<size_t>(shifted->requested.count());
  }
  return static_cast<size_t>(allocator_->RequestedSize(address).value_or(Bytes()).count());
}

std::optional<tsl::AllocatorStats> TslAllocator::GetStats() {
  const gmlake::AllocatorStats ours = allocator_->Stats();
  tsl::AllocatorStats stats;
  stats.num_allocs = ours.num_allocs;
  stats.bytes_in_use = ours.bytes_in_use.count();
  stats.peak_bytes_in_use = ours.peak_bytes_in_use.count();
  stats.largest_alloc_size = ours.largest_alloc_size.count();
  stats.bytes_limit = ours.bytes_limit.count();
  stats.bytes_reserved = ours.bytes_reserved.count();
  stats.peak_bytes_reserved = ours.peak_bytes_reserved.count();
  stats.bytes_reservable_limit = ours.bytes_limit.count();
  stats.largest_free_block_bytes = ours.largest_free_block.count();
  stats.pool_bytes = ours.bytes_reserved.count();
  stats.peak_pool_bytes = ours.peak_bytes_reserved.count();
  return stats;
}

bool TslAllocator::ClearStats() {
  allocator_->ResetPeaks();
  return true;
}

void TslAllocator::SetStreamAndPreallocateMemory(void* stream) { stream_.store(stream); }

}  // namespace gmlake
