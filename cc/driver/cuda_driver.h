// The Driver of a real device, over libcuda.so.1 (or whatever library stands in its place in a test).
#ifndef GMLAKE_DRIVER_CUDA_DRIVER_H_
#define GMLAKE_DRIVER_CUDA_DRIVER_H_

#include <memory>
#include <string>
#include <vector>

#include "cc/base/mutex.h"
#include "cc/driver/cuda_block_kind.h"
#include "cc/driver/cuda_functions.h"
#include "cc/driver/driver.h"

namespace gmlake {

// Model: one device with its primary context, which XLA uses too; the kinds of block it takes, widest first; the
// devices whose access every mapping is opened for. Nothing of a block or a range is remembered here. Invariant: after
// each call the thread has the context and the capture mode it had before. Threads: any; the only state that changes is
// the list of idle events, under a mutex. Cost: the driver's own, plus some 100 ns for context and capture mode.
class CudaDriver final : public Driver {
 public:
  // kNotSupported, with a line to show, for a device that cannot map memory. `cuda` must outlive the driver.
  static StatusOr<std::unique_ptr<CudaDriver>> Open(const CudaFunctions& cuda, int ordinal);
  ~CudaDriver() override;

  Bytes granularity() const override { return granularity_; }

  StatusOr<BlockHandle> Create(Bytes size) override;
  Status Release(BlockHandle block) override;
  StatusOr<Address> Reserve(Bytes size) override;
  Status FreeAddress(Address address, Bytes size) override;
  Status Map(Address address, Bytes size, BlockHandle block) override;
  Status SetAccess(Address address, Bytes size) override;
  Status Unmap(Address address, Bytes size) override;

  StatusOr<EventHandle> RecordEvent(StreamHandle stream) override;
  StatusOr<bool> IsComplete(EventHandle event) override;
  Status WaitOnHost(EventHandle event) override;
  Status WaitOnDevice() override;
  Status WaitOnStream(StreamHandle stream, EventHandle event) override;
  void DestroyEvent(EventHandle event) override;
  StatusOr<bool> IsCapturing(StreamHandle stream) override;

  StatusOr<DeviceMemory> QueryMemory() override;

  // Start-up probe: maps two granules side by side, writes and reads them back, and takes everything down again.
  Status Probe();

  // "fabric, file descriptor, RDMA; peers 1 2 3", for reports.
  std::string Describe() const;

 private:
  CudaDriver(const CudaFunctions& cuda, CUdevice device, CUcontext context);

  Status ReadGranularity();
  Status ChooseBlockKind();
  void FindPeers();
  Status WriteAndReadBack(Address address, Bytes size);
  StatusOr<CUevent> TakeEvent();

  const CudaFunctions& cuda_;
  const CUdevice device_;
  const CUcontext context_;
  Bytes granularity_;
  std::vector<CudaBlockKind> kinds_;     // those that were tried and work, widest first; never empty once open
  std::vector<CUmemAccessDesc> access_;  // this device and its peers

  Mutex mutex_;
  std::vector<CUevent> idle_events_ GMLAKE_GUARDED_BY(mutex_);  // made once, recorded again and again
  size_t num_events_ GMLAKE_GUARDED_BY(mutex_) = 0;             // idle or not
};

}  // namespace gmlake

#endif  // GMLAKE_DRIVER_CUDA_DRIVER_H_
