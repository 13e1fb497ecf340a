// CudaDriver::Probe: does this device really do what its attributes say? Two granules are mapped side by side, as a
// stitched range would be, written through the seam, read back and taken down.
#include <vector>

#include "cc/driver/cuda_driver.h"
#include "cc/driver/cuda_scope.h"
#include "cc/driver/cuda_status.h"

namespace gmlake {
namespace {

constexpr unsigned char kPattern = 0xA5;

// What the probe holds so far; whatever that is, goes back when the probe ends.
class ProbeMemory {
 public:
  explicit ProbeMemory(Driver* driver) : driver_(driver), granule_(driver->granularity()) {}

  ~ProbeMemory() {
    for (int i = 0; i < mapped_; ++i) driver_->Unmap(address_ + granule_ * i, granule_).IgnoreError();
    for (BlockHandle block : blocks_) driver_->Release(block).IgnoreError();
    if (!address_.is_null()) driver_->FreeAddress(address_, granule_ * 2).IgnoreError();
  }

  Status Build() {
    GMLAKE_ASSIGN_OR_RETURN(Address address, driver_->Reserve(granule_ * 2));
    address_ = address;
    for (int i = 0; i < 2; ++i) {
      GMLAKE_RETURN_IF_ERROR(AddGranule());
    }
    return driver_->SetAccess(address_, granule_ * 2);
  }

  Address address() const { return address_; }
  Bytes size() const { return granule_ * 2; }

 private:
  Status AddGranule() {
    GMLAKE_ASSIGN_OR_RETURN(BlockHandle block, driver_->Create(granule_));
    blocks_.push_back(block);
    Status mapped = driver_->Map(address_ + granule_ * mapped_, granule_, block);
    if (mapped.ok()) ++mapped_;
    return mapped;
  }

  Driver* driver_;
  Bytes granule_;
  Address address_;
  std::vector<BlockHandle> blocks_;
  int mapped_ = 0;
};

}  // namespace

Status CudaDriver::WriteAndReadBack(Address address, Bytes size) {
  const CudaCallScope scope(cuda_, context_);
  const size_t count = static_cast<size_t>(size.count());
  const CUresult written = cuda_.cuMemsetD8(address.value(), kPattern, count);
  if (written != CUDA_SUCCESS) return ToStatus(cuda_, written, "cuMemsetD8", size);
  std::vector<unsigned char> copy(count, 0);
  const CUresult read = cuda_.cuMemcpyDtoH(copy.data(), address.value(), count);
  if (read != CUDA_SUCCESS) return ToStatus(cuda_, read, "cuMemcpyDtoH", size);
  for (const unsigned char byte : copy) {
    if (byte != kPattern) return Status(StatusCode::kDriverError, "mapped memory did not keep what was written");
  }
  return OkStatus();
}

Status CudaDriver::Probe() {
  ProbeMemory memory(this);
  GMLAKE_RETURN_IF_ERROR(memory.Build());
  return WriteAndReadBack(memory.address(), memory.size());
}

}  // namespace gmlake
