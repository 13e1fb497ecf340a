// The HostCopier of a real device: a stream of its own, and host memory registered with the driver.
#ifndef GMLAKE_DRIVER_CUDA_HOST_COPIER_H_
#define GMLAKE_DRIVER_CUDA_HOST_COPIER_H_

#include "cc/base/mutex.h"
#include "cc/driver/cuda_functions.h"
#include "cc/driver/host_copier.h"

namespace gmlake {

// Model: one stream that waits for nobody; it and the device's primary context are taken at Open. Host memory is mapped
// anonymously in huge pages, filled by the thread that asks for it, and then registered: unlike cuMemHostAlloc, most of
// that work runs on as many threads as ask. Invariant: after each call the thread has the context and the capture mode
// it had before.
class CudaHostCopier final : public HostCopier {
 public:
  // `cuda` must outlive the copier.
  CudaHostCopier(const CudaFunctions& cuda, int ordinal) : cuda_(cuda), ordinal_(ordinal) {}
  ~CudaHostCopier() override;

  Status Open() override;
  StatusOr<char*> AllocateHost(Bytes size) override;
  void FreeHost(char* memory, Bytes size) override;
  Bytes AvailableHost() override;

  Status ToHost(char* to, Address from, Bytes size) override;
  Status ToDevice(Address to, const char* from, Bytes size) override;
  Status Zero(Address to, Bytes size) override;
  Status Finish() override;
  Status AwaitDevice() override;

 private:
  Status OpenStream();
  Status Register(char* memory, Bytes size);

  const CudaFunctions& cuda_;
  const int ordinal_;
  CUcontext context_ = nullptr;
  CUstream stream_ = nullptr;
  Mutex registering_;
};

}  // namespace gmlake

#endif  // GMLAKE_DRIVER_CUDA_HOST_COPIER_H_
