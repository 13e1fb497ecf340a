#include "cc/driver/cuda_host_copier.h"

#include <sys/mman.h>

#include "cc/driver/cuda_scope.h"
#include "cc/driver/cuda_status.h"
#include "cc/driver/host_memory.h"

namespace gmlake {
namespace {

CUdeviceptr Raw(Address address) { return static_cast<CUdeviceptr>(address.value()); }
size_t Raw(Bytes size) { return static_cast<size_t>(size.count()); }

// By writing: faults of many threads run beside each other, while MADV_POPULATE_WRITE has them wait for one lock (37
// against 14 GB/s with 16 threads, benchmarks/host_memory.py).
void MakePages(char* memory, size_t size) {
  constexpr size_t kPage = 4096;
  for (size_t offset = 0; offset < size; offset += kPage) *const_cast<volatile char*>(memory + offset) = 0;
}

// Anonymous memory whose pages are all there; null if the host has none left.
char* MapAndTouch(size_t size) {
  void* mapped = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED) return nullptr;
  madvise(mapped, size, MADV_HUGEPAGE);
  madvise(mapped, size, MADV_DONTFORK);  // a child would hold pages that the device writes
  char* const memory = static_cast<char*>(mapped);
  MakePages(memory, size);
  return memory;
}

}  // namespace

CudaHostCopier::~CudaHostCopier() {
  if (context_ == nullptr) return;
  if (stream_ != nullptr) {
    const CudaCallScope scope(cuda_, context_);
    cuda_.cuStreamDestroy(stream_);
  }
  cuda_.cuDevicePrimaryCtxRelease(ordinal_);
}

Status CudaHostCopier::Open() {
  if (context_ == nullptr) {
    CUdevice device = 0;
    GMLAKE_RETURN_IF_ERROR(ToStatus(cuda_, cuda_.cuDeviceGet(&device, ordinal_), "cuDeviceGet"));
    const CUresult retained = cuda_.cuDevicePrimaryCtxRetain(&context_, device);
    if (retained != CUDA_SUCCESS) return ToStatus(cuda_, retained, "cuDevicePrimaryCtxRetain");
  }
  return stream_ == nullptr ? OpenStream() : OkStatus();
}

Status CudaHostCopier::OpenStream() {
  const CudaCallScope scope(cuda_, context_);
  return ToStatus(cuda_, cuda_.cuStreamCreate(&stream_, CU_STREAM_NON_BLOCKING), "cuStreamCreate");
}

StatusOr<char*> CudaHostCopier::AllocateHost(Bytes size) {
  char* const memory = MapAndTouch(Raw(size));
  if (memory == nullptr) return Status(StatusCode::kOutOfMemory, "the host has no " + ToString(size) + " left");
  const Status registered = Register(memory, size);
  if (registered.ok()) return memory;
  munmap(memory, Raw(size));
  return registered;
}

// One at a time, which is as fast: the driver lets no second one in, and a program's own calls would queue behind all
// of them.
Status CudaHostCopier::Register(char* memory, Bytes size) {
  const MutexLock lock(&registering_);
  const CudaCallScope scope(cuda_, context_);
  return ToStatus(cuda_, cuda_.cuMemHostRegister(memory, Raw(size), CU_MEMHOSTREGISTER_PORTABLE), "cuMemHostRegister",
                  size);
}

void CudaHostCopier::FreeHost(char* memory, Bytes size) {
  const CudaCallScope scope(cuda_, context_);
  // Memory that stays registered must stay mapped.
  if (cuda_.cuMemHostUnregister(memory) == CUDA_SUCCESS) munmap(memory, Raw(size));
}

Bytes CudaHostCopier::AvailableHost() { return AvailableHostMemory(); }

Status CudaHostCopier::ToHost(char* to, Address from, Bytes size) {
  const CudaCallScope scope(cuda_, context_);
  return ToStatus(cuda_, cuda_.cuMemcpyDtoHAsync(to, Raw(from), Raw(size), stream_), "cuMemcpyDtoHAsync", size);
}

Status CudaHostCopier::ToDevice(Address to, const char* from, Bytes size) {
  const CudaCallScope scope(cuda_, context_);
  return ToStatus(cuda_, cuda_.cuMemcpyHtoDAsync(Raw(to), from, Raw(size), stream_), "cuMemcpyHtoDAsync", size);
}

Status CudaHostCopier::Zero(Address to, Bytes size) {
  const CudaCallScope scope(cuda_, context_);
  return ToStatus(cuda_, cuda_.cuMemsetD8Async(Raw(to), 0, Raw(size), stream_), "cuMemsetD8Async", size);
}

Status CudaHostCopier::Finish() {
  const CudaCallScope scope(cuda_, context_);
  return ToStatus(cuda_, cuda_.cuStreamSynchronize(stream_), "cuStreamSynchronize");
}

Status CudaHostCopier::AwaitDevice() {
  GMLAKE_RETURN_IF_ERROR(Open());
  const CudaContextScope scope(cuda_, context_);
  return ToStatus(cuda_, cuda_.cuCtxSynchronize(), "cuCtxSynchronize");
}

}  // namespace gmlake
