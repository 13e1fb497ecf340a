#include "cc/driver/cuda_driver.h"

#include "cc/driver/cuda_scope.h"
#include "cc/driver/cuda_status.h"

namespace gmlake {
namespace {

CUdeviceptr Raw(Address address) { return static_cast<CUdeviceptr>(address.value()); }
size_t Raw(Bytes size) { return static_cast<size_t>(size.count()); }
CUstream Raw(StreamHandle stream) { return static_cast<CUstream>(stream.value); }
CUevent Raw(EventHandle event) { return static_cast<CUevent>(event.value); }

CUmemAccessDesc ReadWriteFor(CUdevice device) {
  CUmemAccessDesc access = {};
  access.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  access.location.id = device;
  access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  return access;
}

Status NoVirtualMemory(int ordinal) {
  return Status(StatusCode::kNotSupported, "device " + std::to_string(ordinal) +
                                               " has no virtual memory management (a vGPU or an old GPU or driver)");
}

bool HasVirtualMemory(const CudaFunctions& cuda, CUdevice device) {
  int value = 0;
  const CUresult asked =
      cuda.cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED, device);
  return asked == CUDA_SUCCESS && value != 0;
}

}  // namespace

StatusOr<std::unique_ptr<CudaDriver>> CudaDriver::Open(const CudaFunctions& cuda, int ordinal) {
  CUdevice device = 0;
  GMLAKE_RETURN_IF_ERROR(ToStatus(cuda, cuda.cuDeviceGet(&device, ordinal), "cuDeviceGet"));
  if (!HasVirtualMemory(cuda, device)) return NoVirtualMemory(ordinal);
  CUcontext context = nullptr;
  const CUresult retained = cuda.cuDevicePrimaryCtxRetain(&context, device);
  if (retained != CUDA_SUCCESS) return ToStatus(cuda, retained, "cuDevicePrimaryCtxRetain");
  std::unique_ptr<CudaDriver> driver(new CudaDriver(cuda, device, context));
  GMLAKE_RETURN_IF_ERROR(driver->ReadGranularity());
  GMLAKE_RETURN_IF_ERROR(driver->ChooseBlockKind());
  driver->FindPeers();
  return driver;
}

CudaDriver::CudaDriver(const CudaFunctions& cuda, CUdevice device, CUcontext context)
    : cuda_(cuda), device_(device), context_(context) {}

CudaDriver::~CudaDriver() {
  {
    const CudaCallScope scope(cuda_, context_);
    for (CUevent event : idle_events_) cuda_.cuEventDestroy(event);
  }
  cuda_.cuDevicePrimaryCtxRelease(device_);
}

Status CudaDriver::ReadGranularity() {
  const CUmemAllocationProp properties = BlockProperties(device_, {});
  size_t granularity = 0;
  const CUresult asked =
      cuda_.cuMemGetAllocationGranularity(&granularity, &properties, CU_MEM_ALLOC_GRANULARITY_RECOMMENDED);
  granularity_ = Bytes(static_cast<int64_t>(granularity));
  return ToStatus(cuda_, asked, "cuMemGetAllocationGranularity");
}

Status CudaDriver::ChooseBlockKind() {
  const CudaCallScope scope(cuda_, context_);
  Status last;
  for (const CudaBlockKind kind : BlockKindLadder(cuda_, device_)) {
    last = TryBlockKind(cuda_, device_, kind, Raw(granularity_));
    if (last.ok()) kinds_.push_back(kind);
  }
  return kinds_.empty() ? last : OkStatus();
}

void CudaDriver::FindPeers() {
  access_.push_back(ReadWriteFor(device_));
  int count = 0;
  cuda_.cuDeviceGetCount(&count);
  for (int ordinal = 0; ordinal < count; ++ordinal) {
    CUdevice peer = 0;
    int reaches = 0;
    if (cuda_.cuDeviceGet(&peer, ordinal) != CUDA_SUCCESS || peer == device_) continue;
    const CUresult asked = cuda_.cuDeviceCanAccessPeer(&reaches, peer, device_);
    if (asked == CUDA_SUCCESS && reaches != 0) access_.push_back(ReadWriteFor(peer));
  }
}

StatusOr<BlockHandle> CudaDriver::Create(Bytes size) {
  const CudaCallScope scope(cuda_, context_);
  CUresult result = CUDA_ERROR_UNKNOWN;
  for (const CudaBlockKind kind : kinds_) {
    const CUmemAllocationProp properties = BlockProperties(device_, kind);
    CUmemGenericAllocationHandle block = 0;
    result = cuda_.cuMemCreate(&block, Raw(size), &properties, 0);
    if (result == CUDA_SUCCESS) return BlockHandle{block};
    if (result == CUDA_ERROR_OUT_OF_MEMORY) break;
  }
  return ToStatus(cuda_, result, "cuMemCreate", size);
}

Status CudaDriver::Release(BlockHandle block) {
  const CudaCallScope scope(cuda_, context_);
  return ToStatus(cuda_, cuda_.cuMemRelease(block.value), "cuMemRelease");
}

StatusOr<Address> CudaDriver::Reserve(Bytes size) {
  const CudaCallScope scope(cuda_, context_);
  CUdeviceptr address = 0;
  const CUresult result = cuda_.cuMemAddressReserve(&address, Raw(size), Raw(granularity_), 0, 0);
  if (result != CUDA_SUCCESS) return ToStatus(cuda_, result, "cuMemAddressReserve", size);
  return Address(address);
}

Status CudaDriver::FreeAddress(Address address, Bytes size) {
  const CudaCallScope scope(cuda_, context_);
  return ToStatus(cuda_, cuda_.cuMemAddressFree(Raw(address), Raw(size)), "cuMemAddressFree", size);
}

Status CudaDriver::Map(Address address, Bytes size, BlockHandle block) {
  const CudaCallScope scope(cuda_, context_);
  const CUresult result = cuda_.cuMemMap(Raw(address), Raw(size), 0, block.value, 0);
  return ToStatus(cuda_, result, "cuMemMap", size);
}

Status CudaDriver::SetAccess(Address address, Bytes size) {
  const CudaCallScope scope(cuda_, context_);
  const CUresult result = cuda_.cuMemSetAccess(Raw(address), Raw(size), access_.data(), access_.size());
  return ToStatus(cuda_, result, "cuMemSetAccess", size);
}

Status CudaDriver::Unmap(Address address, Bytes size) {
  const CudaCallScope scope(cuda_, context_);
  return ToStatus(cuda_, cuda_.cuMemUnmap(Raw(address), Raw(size)), "cuMemUnmap", size);
}

StatusOr<CUevent> CudaDriver::TakeEvent() {
  {
    const MutexLock lock(&mutex_);
    if (!idle_events_.empty()) {
      const CUevent event = idle_events_.back();
      idle_events_.pop_back();
      return event;
    }
    idle_events_.reserve(++num_events_);  // there is room for each when it comes back: a destructor must not throw
  }
  CUevent event = nullptr;
  const CUresult result = cuda_.cuEventCreate(&event, CU_EVENT_DISABLE_TIMING);
  if (result != CUDA_SUCCESS) return ToStatus(cuda_, result, "cuEventCreate");
  return event;
}

StatusOr<EventHandle> CudaDriver::RecordEvent(StreamHandle stream) {
  const CudaCallScope scope(cuda_, context_);
  GMLAKE_ASSIGN_OR_RETURN(const CUevent event, TakeEvent());
  const CUresult result = cuda_.cuEventRecord(event, Raw(stream));
  if (result == CUDA_SUCCESS) return EventHandle{event};
  DestroyEvent(EventHandle{event});
  return ToStatus(cuda_, result, "cuEventRecord");
}

StatusOr<bool> CudaDriver::IsComplete(EventHandle event) {
  const CudaCallScope scope(cuda_, context_);
  const CUresult result = cuda_.cuEventQuery(Raw(event));
  if (result == CUDA_SUCCESS) return true;
  if (result == CUDA_ERROR_NOT_READY) return false;
  return ToStatus(cuda_, result, "cuEventQuery");
}

Status CudaDriver::WaitOnHost(EventHandle event) {
  const CudaCallScope scope(cuda_, context_);
  return ToStatus(cuda_, cuda_.cuEventSynchronize(Raw(event)), "cuEventSynchronize");
}

// In the thread's own capture mode: the driver then refuses what would spoil a capture.
Status CudaDriver::WaitOnDevice() {
  const CudaContextScope scope(cuda_, context_);
  return ToStatus(cuda_, cuda_.cuCtxSynchronize(), "cuCtxSynchronize");
}

Status CudaDriver::WaitOnStream(StreamHandle stream, EventHandle event) {
  const CudaCallScope scope(cuda_, context_);
  return ToStatus(cuda_, cuda_.cuStreamWaitEvent(Raw(stream), Raw(event), 0), "cuStreamWaitEvent");
}

void CudaDriver::DestroyEvent(EventHandle event) {
  const MutexLock lock(&mutex_);
  idle_events_.push_back(Raw(event));
}

StatusOr<bool> CudaDriver::IsCapturing(StreamHandle stream) {
  const CudaContextScope scope(cuda_, context_);
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  const CUresult result = cuda_.cuStreamIsCapturing(Raw(stream), &status);
  if (result != CUDA_SUCCESS) return ToStatus(cuda_, result, "cuStreamIsCapturing");
  return status != CU_STREAM_CAPTURE_STATUS_NONE;
}

StatusOr<DeviceMemory> CudaDriver::QueryMemory() {
  const CudaCallScope scope(cuda_, context_);
  size_t free = 0;
  size_t total = 0;
  const CUresult result = cuda_.cuMemGetInfo(&free, &total);
  if (result != CUDA_SUCCESS) return ToStatus(cuda_, result, "cuMemGetInfo");
  return DeviceMemory{Bytes(static_cast<int64_t>(free)), Bytes(static_cast<int64_t>(total))};
}

std::string CudaDriver::Describe() const {
  std::string text = ToString(kinds_.front());
  if (access_.size() > 1) text += "; peers";
  for (size_t i = 1; i < access_.size(); ++i) text += " " + std::to_string(access_[i].location.id);
  return text;
}

}  // namespace gmlake
