#include "cc/pjrt/hook/driver_hook.h"

#include <dlfcn.h>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstring>

#include "cc/driver/cuda_result.h"
#include "cc/pjrt/hook/trim_and_retry.h"
#include "cc/pjrt/oom/oom_tracker.h"
#include "cc/pjrt/patch/exception_barrier.h"
#include "cc/pjrt/patch/fork_guard.h"

namespace gmlake {
namespace {

// The driver's types as its C calling convention sees them: CUdeviceptr, CUmemoryPool, CUstream.
using DevicePointer = unsigned long long;
using AllocateFunction = CudaResult(DevicePointer* pointer, size_t size, void* pool, void* stream);
using FreeFunction = CudaResult(DevicePointer pointer, void* stream);
using DestroyFunction = CudaResult(void* stream);

constexpr const char* kAllocate = "cuMemAllocFromPoolAsync";
constexpr const char* kFree = "cuMemFreeAsync";
constexpr const char* kDestroy = "cuStreamDestroy_v2";

std::atomic<DeviceRegistry*> served{nullptr};
std::atomic<AllocateFunction*> driver_allocate{nullptr};
std::atomic<FreeFunction*> driver_free{nullptr};
std::atomic<DestroyFunction*> driver_destroy{nullptr};

void TellOnce(std::atomic<bool>* told, const char* line) {
  if (!told->exchange(true)) std::fprintf(stderr, "gmlake_jax: %s\n", line);
}

CudaResult RefuseInChild() {
  static std::atomic<bool> told{false};
  TellOnce(&told,
           "this process was forked from one that uses the GPU and cannot use it too; "
           "start it with the \"spawn\" method instead");
  return ToCudaResult(StatusCode::kFailedPrecondition);
}

// CU_STREAM_PER_THREAD is as many streams as there are threads, under one name. What is ordered after the one is not
// ordered after the others, and which of them a request meant nobody can tell later, on another thread.
bool IsPerThread(void* stream) { return stream == reinterpret_cast<void*>(uintptr_t{2}); }

CudaResult RefusePerThread() {
  static std::atomic<bool> told{false};
  TellOnce(
      &told,
      "memory is neither given nor taken back on CUDA's per-thread default stream (CU_STREAM_PER_THREAD), which is "
      "another stream for each thread; name a stream instead");
  return ToCudaResult(StatusCode::kNotSupported);
}

CudaResult Refuse(ServedDevice* device, size_t size, const Status& refused) {
  const Bytes asked(static_cast<int64_t>(size));
  if (refused.code() == StatusCode::kOutOfMemory) {
    OomTracker::Instance().Record(device, asked, refused.message());
  } else {
    OomTracker::Instance().RecordError(device, asked, refused.message());
  }
  return ToCudaResult(refused.code());
}

CudaResult AllocateFromPool(DevicePointer* pointer, size_t size, void* pool, void* stream) {
  ServedDevice* device = served.load(std::memory_order_acquire)->ForPool(pool);
  if (device == nullptr) {
    return TrimAndRetry([&] { return driver_allocate.load()(pointer, size, pool, stream); });
  }
  if (IsPerThread(stream)) return RefusePerThread();
  if (InForkedChild()) return RefuseInChild();
  const StatusOr<void*> lease =
      device->allocator().AllocateOnStream(TslAllocator::kCoreAlignment, size, StreamHandle{stream});
  if (!lease.ok()) return Refuse(device, size, lease.status());
  *pointer = reinterpret_cast<DevicePointer>(*lease);
  return ToCudaResult(StatusCode::kOk);
}

CudaResult Free(DevicePointer address, void* stream) {
  if (InForkedChild()) return ToCudaResult(StatusCode::kOk);  // a child drops what it inherited: it is not the child's
  void* pointer = reinterpret_cast<void*>(address);
  const DeviceRegistry* const registry = served.load(std::memory_order_acquire);
  if (IsPerThread(stream) && registry->Owns(pointer)) return RefusePerThread();
  if (registry->Free(pointer, StreamHandle{stream})) return ToCudaResult(StatusCode::kOk);
  return driver_free.load()(address, stream);
}

CudaResult DestroyStream(void* stream) {
  if (!InForkedChild()) served.load(std::memory_order_acquire)->RetireStream(StreamHandle{stream});
  return driver_destroy.load()(stream);
}

// Keeps the driver's function for what is not ours and gives out ours; null stays null.
template <typename Function>
void* Redirect(void* drivers, std::atomic<Function*>* kept, NoThrow<Function> ours) {
  if (drivers == nullptr) return nullptr;
  kept->store(reinterpret_cast<Function*>(drivers));
  return reinterpret_cast<void*>(ours.get());
}

bool IsOneOfOurs(const char* name) {
  for (const char* ours : {kAllocate, kFree, kDestroy}) {
    if (std::strcmp(name, ours) == 0) return true;
  }
  return false;
}

void* LookUpOurs(void* library, const char* name) {
  void* const drivers = dlsym(library, name);
  if (std::strcmp(name, kAllocate) == 0) {
    return Redirect(drivers, &driver_allocate, ExceptionBarrier<&AllocateFromPool, AnswerAsCuda>::Wrap());
  }
  if (std::strcmp(name, kFree) == 0)
    return Redirect(drivers, &driver_free, ExceptionBarrier<&Free, AnswerAsCuda>::Wrap());
  return Redirect(drivers, &driver_destroy, ExceptionBarrier<&DestroyStream, AnswerAsCuda>::Wrap());
}

// Stands in for dlsym. Names that are not ours must reach the real one as a tail call, that is with the plugin's return
// address: dlsym reads from it which library asks, which decides what RTLD_NEXT and RTLD_DEFAULT mean. So it has no
// fence; nothing in it needs memory.
void* LookUp(void* library, const char* name) {
  if (IsOneOfOurs(name)) return LookUpOurs(library, name);
  if (IsRetried(name)) return RetriedFunction(name, dlsym(library, name));
  return dlsym(library, name);
}

}  // namespace

StatusOr<HookPoint> FindHookPoint(void* library) {
  GMLAKE_ASSIGN_OR_RETURN(const ElfImage image, ImageOf(library));
  HookPoint point{image, FindGotSlots(image, "dlsym")};
  if (!point.slots.empty()) return point;
  return Status(StatusCode::kNotSupported,
                "the CUDA plugin does not look up driver functions through dlsym, so there is nothing to hook; "
                "this jaxlib is not supported");
}

Status InstallDriverHook(const HookPoint& point, DeviceRegistry* registry) {
  served.store(registry, std::memory_order_release);
  SetTrim([registry] { registry->ReleaseIdleMemory(); });
  return PatchGotSlots(point.image, point.slots, reinterpret_cast<void*>(&dlsym), reinterpret_cast<void*>(&LookUp));
}

void RemoveDriverHook(const HookPoint& point) {
  PatchGotSlots(point.image, point.slots, reinterpret_cast<void*>(&LookUp), reinterpret_cast<void*>(&dlsym))
      .IgnoreError();
}

}  // namespace gmlake
