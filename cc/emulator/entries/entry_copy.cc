// Driver entry points: copies and fills.
#include <memory>
#include <vector>

#include "cc/emulator/calls/calls.h"
#include "cc/emulator/calls/cuda_api.h"
#include "cc/emulator/calls/settings.h"
#include "cc/emulator/device/context.h"
#include "cc/emulator/device/copies.h"
#include "cc/emulator/device/machine.h"
#include "cc/emulator/streams/streams.h"

namespace gmlake::emulator {
namespace {

bool IsPinned(const void* address) {
  std::lock_guard<std::mutex> lock(machine().mutex);
  const Allocation* allocation = machine().allocations.FindHolding(reinterpret_cast<uint64_t>(address));
  return allocation != nullptr && allocation->is_host();
}

CUresult CheckAndSubmit(CUstream stream, Operation operation) {
  if (const CUresult checked = CheckAtCall(operation); checked != CUDA_SUCCESS) return checked;
  return Submit(stream, std::move(operation));
}

// Runs when the device's blocking streams are done, as on the default stream. Pinned to no capture.
CUresult CheckAndRun(Operation operation) {
  if (const CUresult checked = CheckAtCall(operation); checked != CUDA_SUCCESS) return checked;
  Drain(nullptr);
  Execute(operation);
  return CUDA_SUCCESS;
}

// Pageable memory is read before the call returns, so that the caller may change it.
Operation FromHost(uint64_t to, const void* from, size_t size, int device) {
  if (!settings().async || IsPinned(from))
    return CopyOperation("copy to device", OnDevice(to, device), OnHost(from), size);
  const char* const bytes = static_cast<const char*>(from);
  auto staged = std::make_shared<const std::vector<char>>(bytes, bytes + size);
  Operation copy = CopyOperation("copy to device", OnDevice(to, device), OnHost(staged->data()), size);
  copy.run = [staged, run = std::move(copy.run)] { run(); };
  return copy;
}

Operation Between(const char* what, uint64_t to, uint64_t from, size_t size, int device) {
  return CopyOperation(what, OnEither(to, device), OnEither(from, device), size);
}

// Each end is reached by its own device, so neither needs access to the other's memory.
Operation BetweenPeers(uint64_t to, CUcontext to_context, uint64_t from, CUcontext from_context, size_t size) {
  return CopyOperation("copy between peers", OnDevice(to, to_context->device), OnDevice(from, from_context->device),
                       size);
}

CUDA_MEMSET_NODE_PARAMS Row(uint64_t address, unsigned value, unsigned element, size_t count) {
  CUDA_MEMSET_NODE_PARAMS fill{};
  fill.dst = address;
  fill.value = value;
  fill.elementSize = element;
  fill.width = count;
  fill.height = 1;
  return fill;
}

CUresult FillLater(CUstream stream, const CUDA_MEMSET_NODE_PARAMS& fill) {
  return CheckAndSubmit(stream, FillOperation(fill, DeviceOf(stream)));
}

CUresult FillNow(const CUDA_MEMSET_NODE_PARAMS& fill) { return CheckAndRun(FillOperation(fill, CurrentDevice())); }

}  // namespace
}  // namespace gmlake::emulator

using namespace gmlake::emulator;  // NOLINT: entry points are in the global namespace

CUresult CUDAAPI cuMemcpyHtoDAsync(CUdeviceptr to, const void* from, size_t size, CUstream stream) {
  GMLAKE_ENTRY();
  return CheckAndSubmit(stream, FromHost(to, from, size, DeviceOf(stream)));
}

// Into pageable memory the call returns when the bytes are there.
CUresult CUDAAPI cuMemcpyDtoHAsync(void* to, CUdeviceptr from, size_t size, CUstream stream) {
  GMLAKE_ENTRY();
  const CUresult copied =
      CheckAndSubmit(stream, CopyOperation("copy to host", OnHost(to), OnDevice(from, DeviceOf(stream)), size));
  const bool is_captured = !IsDefaultStream(stream) && stream->capture != nullptr;
  if (copied == CUDA_SUCCESS && !is_captured && !IsPinned(to)) Drain(stream);
  return copied;
}

CUresult CUDAAPI cuMemcpyDtoDAsync(CUdeviceptr to, CUdeviceptr from, size_t size, CUstream stream) {
  GMLAKE_ENTRY();
  return CheckAndSubmit(stream, Between("copy on device", to, from, size, DeviceOf(stream)));
}

CUresult CUDAAPI cuMemcpyAsync(CUdeviceptr to, CUdeviceptr from, size_t size, CUstream stream) {
  GMLAKE_ENTRY();
  return CheckAndSubmit(stream, Between("copy", to, from, size, DeviceOf(stream)));
}

CUresult CUDAAPI cuMemcpyPeerAsync(CUdeviceptr to, CUcontext to_context, CUdeviceptr from, CUcontext from_context,
                                   size_t size, CUstream stream) {
  GMLAKE_ENTRY();
  return CheckAndSubmit(stream, BetweenPeers(to, to_context, from, from_context, size));
}

CUresult CUDAAPI cuMemcpyHtoD(CUdeviceptr to, const void* from, size_t size) {
  GMLAKE_ENTRY();
  return CheckAndRun(CopyOperation("copy to device", OnDevice(to, CurrentDevice()), OnHost(from), size));
}

CUresult CUDAAPI cuMemcpyDtoH(void* to, CUdeviceptr from, size_t size) {
  GMLAKE_ENTRY();
  return CheckAndRun(CopyOperation("copy to host", OnHost(to), OnDevice(from, CurrentDevice()), size));
}

CUresult CUDAAPI cuMemcpyDtoD(CUdeviceptr to, CUdeviceptr from, size_t size) {
  GMLAKE_ENTRY();
  return CheckAndRun(Between("copy on device", to, from, size, CurrentDevice()));
}

CUresult CUDAAPI cuMemcpy(CUdeviceptr to, CUdeviceptr from, size_t size) {
  GMLAKE_ENTRY();
  return CheckAndRun(Between("copy", to, from, size, CurrentDevice()));
}

CUresult CUDAAPI cuMemcpyPeer(CUdeviceptr to, CUcontext to_context, CUdeviceptr from, CUcontext from_context,
                              size_t size) {
  GMLAKE_ENTRY();
  return CheckAndRun(BetweenPeers(to, to_context, from, from_context, size));
}

CUresult CUDAAPI cuMemsetD8Async(CUdeviceptr to, unsigned char value, size_t count, CUstream stream) {
  GMLAKE_ENTRY();
  return FillLater(stream, Row(to, value, 1, count));
}

CUresult CUDAAPI cuMemsetD16Async(CUdeviceptr to, unsigned short value, size_t count, CUstream stream) {
  GMLAKE_ENTRY();
  return FillLater(stream, Row(to, value, 2, count));
}

CUresult CUDAAPI cuMemsetD32Async(CUdeviceptr to, unsigned value, size_t count, CUstream stream) {
  GMLAKE_ENTRY();
  return FillLater(stream, Row(to, value, 4, count));
}

CUresult CUDAAPI cuMemsetD8(CUdeviceptr to, unsigned char value, size_t count) {
  GMLAKE_ENTRY();
  return FillNow(Row(to, value, 1, count));
}

CUresult CUDAAPI cuMemsetD16(CUdeviceptr to, unsigned short value, size_t count) {
  GMLAKE_ENTRY();
  return FillNow(Row(to, value, 2, count));
}

CUresult CUDAAPI cuMemsetD32(CUdeviceptr to, unsigned value, size_t count) {
  GMLAKE_ENTRY();
  return FillNow(Row(to, value, 4, count));
}
