// The small steps that questions and tests of the rules are made of.
#ifndef GMLAKE_EMULATOR_CONFORMANCE_STEPS_H_
#define GMLAKE_EMULATOR_CONFORMANCE_STEPS_H_

#include "cc/emulator/conformance/driver_under_test.h"

namespace gmlake::conformance {

inline constexpr size_t kGranule = size_t{2} << 20;

inline void Answer(const char* question, long long answer) {
  std::printf("%s = %lld\n", question, answer);
  std::fflush(stdout);
}

inline CUmemAllocationProp Pinned(int device) {
  CUmemAllocationProp prop{};
  prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  prop.location = {CU_MEM_LOCATION_TYPE_DEVICE, {device}};
  return prop;
}

inline CUmemAccessDesc AccessOf(int device) {
  return {{CU_MEM_LOCATION_TYPE_DEVICE, {device}}, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
}

inline CUresult Create(CUmemGenericAllocationHandle* handle, size_t size, int device = 0) {
  const CUmemAllocationProp prop = Pinned(device);
  return GMLAKE_CALL(cuMemCreate)(handle, size, &prop, 0);
}

inline CUmemGenericAllocationHandle MustCreate(size_t size, int device = 0) {
  CUmemGenericAllocationHandle handle = 0;
  GMLAKE_MUST(Create(&handle, size, device));
  return handle;
}

inline CUdeviceptr MustReserve(size_t size) {
  CUdeviceptr address = 0;
  GMLAKE_MUST(GMLAKE_CALL(cuMemAddressReserve)(&address, size, 0, 0, 0));
  return address;
}

inline CUresult Map(CUdeviceptr at, size_t size, CUmemGenericAllocationHandle handle, size_t offset = 0) {
  return GMLAKE_CALL(cuMemMap)(at, size, offset, handle, 0);
}

inline CUresult Unmap(CUdeviceptr at, size_t size) { return GMLAKE_CALL(cuMemUnmap)(at, size); }

inline CUresult SetAccess(CUdeviceptr at, size_t size, int device = 0) {
  const CUmemAccessDesc access = AccessOf(device);
  return GMLAKE_CALL(cuMemSetAccess)(at, size, &access, 1);
}

inline CUresult Release(CUmemGenericAllocationHandle handle) { return GMLAKE_CALL(cuMemRelease)(handle); }

inline CUresult FreeAddress(CUdeviceptr at, size_t size) { return GMLAKE_CALL(cuMemAddressFree)(at, size); }

inline void UseDevice(int device) {
  CUcontext context;
  GMLAKE_MUST(GMLAKE_CALL(cuDevicePrimaryCtxRetain)(&context, device));
  GMLAKE_MUST(GMLAKE_CALL(cuCtxSetCurrent)(context));
}

// Two blocks of a granule, mapped side by side at the start of a reservation of four granules, accessible.
struct Pair {
  CUdeviceptr at = MustReserve(4 * kGranule);
  CUmemGenericAllocationHandle first = MustCreate(kGranule), second = MustCreate(kGranule);
  Pair() {
    GMLAKE_MUST(Map(at, kGranule, first));
    GMLAKE_MUST(Map(at + kGranule, kGranule, second));
    GMLAKE_MUST(SetAccess(at, 2 * kGranule));
  }
};

}  // namespace gmlake::conformance

#endif  // GMLAKE_EMULATOR_CONFORMANCE_STEPS_H_
