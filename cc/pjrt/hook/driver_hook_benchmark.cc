// What the way from XLA's call to the core adds to a request: the same allocate and free through the hook and straight
// at the core, both steady, so that no driver call is made. Run: bazel run -c opt //cc/pjrt/hook:driver_hook_benchmark
#include <benchmark/benchmark.h>
#include <dlfcn.h>

#include <memory>

#include "cc/driver/testing/scripted_cuda.h"
#include "cc/pjrt/hook/driver_hook.h"

namespace gmlake {
namespace {

using LookUpFunction = void* (*)(void*, const char*);
using AllocateFunction = int (*)(unsigned long long*, size_t, void*, void*);
using FreeFunction = int (*)(unsigned long long, void*);

constexpr size_t kSize = size_t{8} << 20;

// A hooked library and `devices` served devices, made once for each number of devices.
struct Hooked {
  explicit Hooked(int devices) {
    void* const library = dlopen("cc/pjrt/testing/liblooking.so", RTLD_NOW | RTLD_LOCAL);
    void* const driver = dlopen(kScriptedCudaPath, RTLD_NOW | RTLD_LOCAL);
    reinterpret_cast<GetScriptedCuda>(dlsym(driver, kGetScriptedCuda))()->script.num_devices = devices;
    Options options;
    options.driver_path = kScriptedCudaPath;
    registry = std::make_unique<DeviceRegistry>(options);
    point = *FindHookPoint(library);
    InstallDriverHook(point, registry.get()).IgnoreError();
    registry->Serve({}).IgnoreError();
    const auto look_up = reinterpret_cast<LookUpFunction>(dlsym(library, "LookUpIn"));
    allocate = reinterpret_cast<AllocateFunction>(look_up(driver, "cuMemAllocFromPoolAsync"));
    free = reinterpret_cast<FreeFunction>(look_up(driver, "cuMemFreeAsync"));
  }
  ~Hooked() {
    registry->StopHousekeeping();
    RemoveDriverHook(point);
  }

  HookPoint point;
  std::unique_ptr<DeviceRegistry> registry;
  AllocateFunction allocate = nullptr;
  FreeFunction free = nullptr;
};

void BM_ThroughTheHook(benchmark::State& state) {
  const Hooked hooked(static_cast<int>(state.range(0)));
  void* const last_pool = reinterpret_cast<void*>(static_cast<uintptr_t>(0x1000 + state.range(0) - 1));
  for (auto _ : state) {
    unsigned long long address = 0;
    benchmark::DoNotOptimize(hooked.allocate(&address, kSize, last_pool, nullptr));
    benchmark::DoNotOptimize(hooked.free(address, nullptr));
  }
}
BENCHMARK(BM_ThroughTheHook)->Arg(1)->Arg(8);

void BM_StraightAtTheCore(benchmark::State& state) {
  const Hooked hooked(1);
  Allocator& core = hooked.registry->Find(0)->core();
  for (auto _ : state) {
    StatusOr<Address> address = core.Allocate(Bytes(kSize), StreamHandle());
    benchmark::DoNotOptimize(core.Free(*address, StreamHandle()));
  }
}
BENCHMARK(BM_StraightAtTheCore);

}  // namespace
}  // namespace gmlake

BENCHMARK_MAIN();
