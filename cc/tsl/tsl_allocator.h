// A tsl::Allocator over the core, compiled against XLA's own header.
//
// The driver hook talks to the core only through this class. It adds to the core what that interface asks for and the
// core does not know: alignments above the core's own, and statistics in XLA's form. It decides nothing about memory.
#ifndef GMLAKE_TSL_TSL_ALLOCATOR_H_
#define GMLAKE_TSL_TSL_ALLOCATOR_H_

#include <atomic>
#include <cstddef>
#include <optional>
#include <string>
#include <unordered_map>

#include "cc/base/mutex.h"
#include "cc/core/allocator.h"
#include "xla/tsl/framework/allocator.h"

namespace gmlake {

// Model: a view of one device's gmlake::Allocator. tsl's interface names no stream, so its calls mean the stream given
// by SetStreamAndPreallocateMemory, or else the default stream; the stream-aware door below says it per call. Threads:
// any. Cost: that of the core; an atomic load more.
class TslAllocator final : public tsl::Allocator {
 public:
  // Every address that the core hands out is a multiple of this.
  static constexpr size_t kCoreAlignment = 256;

  // `allocator` must outlive this object.
  TslAllocator(gmlake::Allocator* allocator, std::string name);

  // The stream-aware door. On failure the status tells an exhausted device from a refused call.
  StatusOr<void*> AllocateOnStream(size_t alignment, size_t num_bytes, StreamHandle stream);
  // False: `pointer` is not a live lease of ours, and nothing was done.
  bool FreeOnStream(void* pointer, StreamHandle stream);
  // To be called before `stream` is destroyed.
  void RetireStream(StreamHandle stream);

  std::string Name() override { return name_; }
  void* AllocateRaw(size_t alignment, size_t num_bytes) override;
  using tsl::Allocator::AllocateRaw;
  void DeallocateRaw(void* pointer) override;
  using tsl::Allocator::DeallocateRaw;

  bool TracksAllocationSizes() const override { return true; }
  size_t RequestedSize(const void* pointer) const override;
  size_t AllocatedSize(const void* pointer) const override { return RequestedSize(pointer); }

  std::optional<tsl::AllocatorStats> GetStats() override;
  bool ClearStats() override;

  void SetStreamAndPreallocateMemory(void* stream) override;
  tsl::AllocatorMemoryType GetMemoryType() const override { return tsl::AllocatorMemoryType::kDevice; }

 private:
  struct Shifted {
    Address lease;    // what the core handed out
    Bytes requested;  // what the caller asked for
  };

  StatusOr<void*> AllocateShifted(size_t alignment, Bytes size, StreamHandle stream);
  std::optional<Shifted> FindShifted(Address address) const;
  std::optional<Address> ForgetShifted(Address address);

  gmlake::Allocator* const allocator_;
  const std::string name_;
  std::atomic<void*> stream_{nullptr};

  mutable Mutex mutex_;
  std::atomic<int> num_shifted_{0};  // lets the usual path pass without the mutex
  std::unordered_map<uint64_t, Shifted> shifted_ GMLAKE_GUARDED_BY(mutex_);  // by the address the caller holds
};

}  // namespace gmlake

#endif  // GMLAKE_TSL_TSL_ALLOCATOR_H_
