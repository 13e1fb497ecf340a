// Driver entry points: initialization, devices, contexts, peers, names of errors.
#include <cstdio>
#include <cstring>

#include "cc/emulator/calls/calls.h"
#include "cc/emulator/calls/cuda_api.h"
#include "cc/emulator/device/context.h"
#include "cc/emulator/device/machine.h"
#include "cc/emulator/entries/device_attributes.h"
#include "cc/emulator/streams/capture.h"
#include "cc/emulator/streams/streams.h"

using gmlake::emulator::CheckNothingCaptured;
using gmlake::emulator::CurrentContext;
using gmlake::emulator::CurrentDevice;
using gmlake::emulator::DrainDevice;
using gmlake::emulator::ExclusiveAccess;
using gmlake::emulator::machine;

CUresult CUDAAPI cuInit(unsigned) {
  GMLAKE_ENTRY();
  return machine().num_devices() > 0 ? CUDA_SUCCESS : CUDA_ERROR_NO_DEVICE;
}

CUresult CUDAAPI cuDriverGetVersion(int* version) {
  GMLAKE_ENTRY();
  *version = gmlake::emulator::kDriverVersion;
  return CUDA_SUCCESS;
}

CUresult CUDAAPI cuDeviceGetCount(int* count) {
  GMLAKE_ENTRY();
  *count = machine().num_devices();
  return CUDA_SUCCESS;
}

CUresult CUDAAPI cuDeviceGet(CUdevice* device, int ordinal) {
  GMLAKE_ENTRY();
  if (!machine().has_device(ordinal)) return CUDA_ERROR_INVALID_DEVICE;
  *device = ordinal;
  return CUDA_SUCCESS;
}

CUresult CUDAAPI cuDeviceGetName(char* name, int size, CUdevice) {
  GMLAKE_ENTRY();
  std::snprintf(name, size, "%s", gmlake::emulator::kDeviceName);
  return CUDA_SUCCESS;
}

CUresult CUDAAPI cuDeviceTotalMem(size_t* bytes, CUdevice device) {
  GMLAKE_ENTRY();
  if (!machine().has_device(device)) return CUDA_ERROR_INVALID_DEVICE;
  *bytes = machine().memory[device].total();
  return CUDA_SUCCESS;
}

CUresult CUDAAPI cuDeviceGetUuid(CUuuid* uuid, CUdevice device) {
  GMLAKE_ENTRY();
  if (!machine().has_device(device)) return CUDA_ERROR_INVALID_DEVICE;
  std::memset(uuid, 0, sizeof *uuid);
  std::memcpy(uuid->bytes, "EMULATED", 8);
  uuid->bytes[15] = static_cast<char>(machine().devices[device].number);
  return CUDA_SUCCESS;
}

CUresult CUDAAPI cuDeviceGetPCIBusId(char* id, int size, CUdevice device) {
  GMLAKE_ENTRY();
  if (!machine().has_device(device)) return CUDA_ERROR_INVALID_DEVICE;
  std::snprintf(id, size, "0000:%02X:00.0", machine().devices[device].number + 1);
  return CUDA_SUCCESS;
}

CUresult CUDAAPI cuDeviceGetByPCIBusId(CUdevice* device, const char* id) {
  GMLAKE_ENTRY();
  unsigned domain = 0, bus = 0;
  if (std::sscanf(id, "%x:%x", &domain, &bus) != 2) return CUDA_ERROR_INVALID_VALUE;
  *device = machine().OrdinalOf(static_cast<int>(bus) - 1);
  return *device >= 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
}

CUresult CUDAAPI cuDeviceComputeCapability(int* major, int* minor, CUdevice) {
  GMLAKE_ENTRY();
  *major = 9;
  *minor = 0;
  return CUDA_SUCCESS;
}

CUresult CUDAAPI cuDeviceGetAttribute(int* value, CUdevice_attribute attribute, CUdevice device) {
  GMLAKE_ENTRY();
  if (!machine().has_device(device)) return CUDA_ERROR_INVALID_DEVICE;
  *value = gmlake::emulator::DeviceAttribute(attribute, machine().devices[device].number);
  return CUDA_SUCCESS;
}

CUresult CUDAAPI cuDevicePrimaryCtxRetain(CUcontext* context, CUdevice device) {
  GMLAKE_ENTRY();
  if (!machine().has_device(device)) return CUDA_ERROR_INVALID_DEVICE;
  std::lock_guard<std::mutex> lock(machine().mutex);
  machine().devices[device].primary_holders++;
  *context = &machine().devices[device].primary_context;
  return CUDA_SUCCESS;
}

CUresult CUDAAPI cuDevicePrimaryCtxRelease(CUdevice device) {
  GMLAKE_ENTRY();
  std::lock_guard<std::mutex> lock(machine().mutex);
  machine().devices[device].primary_holders--;
  return CUDA_SUCCESS;
}

CUresult CUDAAPI cuDevicePrimaryCtxSetFlags(CUdevice device, unsigned flags) {
  GMLAKE_ENTRY();
  std::lock_guard<std::mutex> lock(machine().mutex);
  machine().devices[device].primary_flags = flags;
  return CUDA_SUCCESS;
}

CUresult CUDAAPI cuDevicePrimaryCtxGetState(CUdevice device, unsigned* flags, int* active) {
  GMLAKE_ENTRY();
  std::lock_guard<std::mutex> lock(machine().mutex);
  *flags = machine().devices[device].primary_flags;
  *active = machine().devices[device].primary_holders > 0;
  return CUDA_SUCCESS;
}

CUresult CUDAAPI cuCtxGetCurrent(CUcontext* context) {
  GMLAKE_ENTRY();
  *context = CurrentContext();
  return CUDA_SUCCESS;
}

CUresult CUDAAPI cuCtxSetCurrent(CUcontext context) {
  GMLAKE_ENTRY();
  gmlake::emulator::SetCurrentContext(context);
  return CUDA_SUCCESS;
}

CUresult CUDAAPI cuCtxPushCurrent(CUcontext context) {
  GMLAKE_ENTRY();
  gmlake::emulator::PushContext(context);
  return CUDA_SUCCESS;
}

CUresult CUDAAPI cuCtxPopCurrent(CUcontext* context) {
  GMLAKE_ENTRY();
  CUcontext popped = nullptr;
  if (!gmlake::emulator::PopContext(&popped)) return CUDA_ERROR_INVALID_CONTEXT;
  if (context != nullptr) *context = popped;
  return CUDA_SUCCESS;
}

CUresult CUDAAPI cuCtxGetDevice(CUdevice* device) {
  GMLAKE_ENTRY();
  if (CurrentContext() == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  *device = CurrentDevice();
  return CUDA_SUCCESS;
}

CUresult CUDAAPI cuCtxSynchronize() {
  GMLAKE_ENTRY();
  if (const CUresult captured = CheckNothingCaptured(__func__); captured != CUDA_SUCCESS) return captured;
  DrainDevice(CurrentDevice());
  ExclusiveAccess access;
  machine().ReleaseIdlePoolMemory();
  return CUDA_SUCCESS;
}

CUresult CUDAAPI cuCtxGetStreamPriorityRange(int* least, int* greatest) {
  GMLAKE_ENTRY();
  if (least != nullptr) *least = 0;
  if (greatest != nullptr) *greatest = -5;
  return CUDA_SUCCESS;
}

CUresult CUDAAPI cuCtxGetFlags(unsigned* flags) {
  GMLAKE_ENTRY();
  *flags = 0;
  return CUDA_SUCCESS;
}

CUresult CUDAAPI cuCtxGetApiVersion(CUcontext, unsigned* version) {
  GMLAKE_ENTRY();
  *version = 3020;
  return CUDA_SUCCESS;
}

CUresult CUDAAPI cuCtxSetLimit(CUlimit, size_t) {
  GMLAKE_ENTRY();
  return CUDA_SUCCESS;
}

CUresult CUDAAPI cuCtxGetLimit(size_t* value, CUlimit) {
  GMLAKE_ENTRY();
  *value = 1024;
  return CUDA_SUCCESS;
}

CUresult CUDAAPI cuDeviceCanAccessPeer(int* can, CUdevice device, CUdevice peer) {
  GMLAKE_ENTRY();
  *can = device != peer;
  return CUDA_SUCCESS;
}

CUresult CUDAAPI cuDeviceGetP2PAttribute(int* value, CUdevice_P2PAttribute attribute, CUdevice, CUdevice) {
  GMLAKE_ENTRY();
  *value = attribute == CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED ||
           attribute == CU_DEVICE_P2P_ATTRIBUTE_NATIVE_ATOMIC_SUPPORTED;
  return CUDA_SUCCESS;
}

// Opens plain memory only. Mappings are opened one by one (cuMemSetAccess), pools by cuMemPoolSetAccess.
CUresult CUDAAPI cuCtxEnablePeerAccess(CUcontext peer, unsigned) {
  GMLAKE_ENTRY();
  std::lock_guard<std::mutex> lock(machine().mutex);
  auto enabled = machine().devices[CurrentDevice()].peers[peer->device];
  if (enabled) return CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED;
  enabled = true;
  return CUDA_SUCCESS;
}

CUresult CUDAAPI cuCtxDisablePeerAccess(CUcontext peer) {
  GMLAKE_ENTRY();
  std::lock_guard<std::mutex> lock(machine().mutex);
  auto enabled = machine().devices[CurrentDevice()].peers[peer->device];
  if (!enabled) return CUDA_ERROR_PEER_ACCESS_NOT_ENABLED;
  enabled = false;
  return CUDA_SUCCESS;
}

namespace {

struct ErrorName {
  CUresult code;
  const char* name;
};

#define GMLAKE_ERROR(code) {code, #code}
constexpr ErrorName kErrorNames[] = {
    GMLAKE_ERROR(CUDA_SUCCESS),
    GMLAKE_ERROR(CUDA_ERROR_INVALID_VALUE),
    GMLAKE_ERROR(CUDA_ERROR_OUT_OF_MEMORY),
    GMLAKE_ERROR(CUDA_ERROR_NOT_INITIALIZED),
    GMLAKE_ERROR(CUDA_ERROR_DEINITIALIZED),
    GMLAKE_ERROR(CUDA_ERROR_NO_DEVICE),
    GMLAKE_ERROR(CUDA_ERROR_INVALID_DEVICE),
    GMLAKE_ERROR(CUDA_ERROR_INVALID_IMAGE),
    GMLAKE_ERROR(CUDA_ERROR_INVALID_CONTEXT),
    GMLAKE_ERROR(CUDA_ERROR_MAP_FAILED),
    GMLAKE_ERROR(CUDA_ERROR_UNMAP_FAILED),
    GMLAKE_ERROR(CUDA_ERROR_INVALID_HANDLE),
    GMLAKE_ERROR(CUDA_ERROR_ILLEGAL_STATE),
    GMLAKE_ERROR(CUDA_ERROR_NOT_FOUND),
    GMLAKE_ERROR(CUDA_ERROR_NOT_READY),
    GMLAKE_ERROR(CUDA_ERROR_ILLEGAL_ADDRESS),
    GMLAKE_ERROR(CUDA_ERROR_LAUNCH_FAILED),
    GMLAKE_ERROR(CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED),
    GMLAKE_ERROR(CUDA_ERROR_PEER_ACCESS_NOT_ENABLED),
    GMLAKE_ERROR(CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED),
    GMLAKE_ERROR(CUDA_ERROR_NOT_PERMITTED),
    GMLAKE_ERROR(CUDA_ERROR_NOT_SUPPORTED),
    GMLAKE_ERROR(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED),
    GMLAKE_ERROR(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED),
    GMLAKE_ERROR(CUDA_ERROR_STREAM_CAPTURE_MERGE),
    GMLAKE_ERROR(CUDA_ERROR_STREAM_CAPTURE_UNMATCHED),
    GMLAKE_ERROR(CUDA_ERROR_STREAM_CAPTURE_ISOLATION),
    GMLAKE_ERROR(CUDA_ERROR_STREAM_CAPTURE_IMPLICIT),
    GMLAKE_ERROR(CUDA_ERROR_CAPTURED_EVENT),
    GMLAKE_ERROR(CUDA_ERROR_UNKNOWN),
};
#undef GMLAKE_ERROR

}  // namespace

CUresult CUDAAPI cuGetErrorName(CUresult error, const char** name) {
  GMLAKE_ENTRY();
  *name = "CUDA_ERROR_<other>";
  for (const ErrorName& known : kErrorNames) {
    if (known.code == error) *name = known.name;
  }
  return CUDA_SUCCESS;
}

CUresult CUDAAPI cuGetErrorString(CUresult error, const char** text) {
  GMLAKE_ENTRY();
  return cuGetErrorName(error, text);
}
