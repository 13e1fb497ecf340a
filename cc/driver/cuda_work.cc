#include "cc/driver/cuda_work.h"

#include <utility>

#include "cc/driver/cuda_functions.h"
#include "cc/driver/cuda_status.h"
#include "cc/driver/cuda_table.h"

#define GMLAKE_WORK_FUNCTIONS(X) \
  X(cuStreamCreate)              \
  X(cuStreamDestroy)             \
  X(cuStreamSynchronize)         \
  X(cuMemsetD32Async)            \
  X(cuMemcpyDtoHAsync)           \
  X(cuMemPoolCreate)             \
  X(cuMemPoolDestroy)            \
  X(cuMemPoolSetAttribute)       \
  X(cuMemPoolGetAttribute)       \
  X(cuMemAllocFromPoolAsync)     \
  X(cuMemFreeAsync)

namespace gmlake {

struct CudaWork::Functions {
  GMLAKE_CUDA_TABLE(GMLAKE_WORK_FUNCTIONS)
};

struct CudaWork::State {
  explicit State(const CudaFunctions& functions) : cuda(functions) {}

  Status Check(CUresult result, const char* call) { return ToStatus(cuda, result, call); }

  Status MakeContext(int ordinal) {
    Status status = Check(cuda.cuDeviceGet(&device, ordinal), "cuDeviceGet");
    CUcontext context = nullptr;
    if (status.ok()) {
      status = Check(cuda.cuDevicePrimaryCtxRetain(&context, device), "cuDevicePrimaryCtxRetain");
    }
    return status.ok() ? Check(cuda.cuCtxSetCurrent(context), "cuCtxSetCurrent") : status;
  }

  Status MakePool(Bytes limit) {
    CUmemPoolProps properties = {};
    properties.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
    properties.location = {CU_MEM_LOCATION_TYPE_DEVICE, device};
    properties.maxSize = static_cast<size_t>(limit.count());
    Status status = Check(work.cuMemPoolCreate(&pool, &properties), "cuMemPoolCreate");
    uint64_t keep_all = UINT64_MAX;
    if (!status.ok()) return status;
    return Check(work.cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &keep_all),
                 "cuMemPoolSetAttribute");
  }

  const CudaFunctions& cuda;
  Functions work;
  CUdevice device = 0;
  CUstream stream = nullptr;
  CUmemoryPool pool = nullptr;
};

StatusOr<std::unique_ptr<CudaWork>> CudaWork::Open(const CudaFunctions& cuda, const std::string& path, int ordinal,
                                                   Bytes pool_limit) {
  auto state = std::make_unique<State>(cuda);
  GMLAKE_ASSIGN_OR_RETURN(void* const library, OpenCudaLibrary(path));
  Status status = state->work.Resolve(library);
  if (status.ok()) status = state->MakeContext(ordinal);
  if (status.ok()) {
    status = state->Check(state->work.cuStreamCreate(&state->stream, CU_STREAM_NON_BLOCKING), "cuStreamCreate");
  }
  if (status.ok()) status = state->MakePool(pool_limit);
  if (!status.ok()) return status;
  return std::unique_ptr<CudaWork>(new CudaWork(std::move(state)));
}

CudaWork::CudaWork(std::unique_ptr<State> state) : state_(std::move(state)) {}

CudaWork::~CudaWork() {
  Synchronize().IgnoreError();  // the end of a benchmark: nothing could be done about it
  state_->work.cuMemPoolDestroy(state_->pool);
  state_->work.cuStreamDestroy(state_->stream);
}

StreamHandle CudaWork::stream() const { return {state_->stream}; }

Status CudaWork::Fill(Address address, Bytes size, uint32_t value) {
  return state_->Check(
      state_->work.cuMemsetD32Async(address.value(), value, static_cast<size_t>(size.count() / 4), state_->stream),
      "cuMemsetD32Async");
}

StatusOr<uint32_t> CudaWork::Read(Address address) {
  uint32_t value = 0;
  Status status = state_->Check(state_->work.cuMemcpyDtoHAsync(&value, address.value(), sizeof(value), state_->stream),
                                "cuMemcpyDtoHAsync");
  if (status.ok()) status = Synchronize();
  if (!status.ok()) return status;
  return value;
}

Status CudaWork::Synchronize() {
  return state_->Check(state_->work.cuStreamSynchronize(state_->stream), "cuStreamSynchronize");
}

StatusOr<Address> CudaWork::AllocateFromPool(Bytes size) {
  CUdeviceptr address = 0;
  GMLAKE_RETURN_IF_ERROR(state_->Check(
      state_->work.cuMemAllocFromPoolAsync(&address, static_cast<size_t>(size.count()), state_->pool, state_->stream),
      "cuMemAllocFromPoolAsync"));
  return Address(address);
}

Status CudaWork::FreeToPool(Address address) {
  return state_->Check(state_->work.cuMemFreeAsync(address.value(), state_->stream), "cuMemFreeAsync");
}

StatusOr<Bytes> CudaWork::PoolPeak() {
  uint64_t peak = 0;
  const Status status =
      state_->Check(state_->work.cuMemPoolGetAttribute(state_->pool, CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH, &peak),
                    "cuMemPoolGetAttribute");
  if (!status.ok()) return status;
  return Bytes(static_cast<int64_t>(peak));
}

}  // namespace gmlake
