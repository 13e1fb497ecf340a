// The hook and the registry behind it, on a library that looks functions up and a driver that obeys a script.
#include "cc/pjrt/hook/driver_hook.h"

#include <sys/wait.h>
#include <unistd.h>

#include <memory>
#include <thread>
#include <vector>

#include "cc/driver/testing/scripted_cuda_fixture.h"

namespace gmlake {
namespace {

using LookUpFunction = void* (*)(void*, const char*);
using AllocateFunction = int (*)(unsigned long long*, size_t, void*, void*);
using FreeFunction = int (*)(unsigned long long, void*);

void* PoolOf(int ordinal) { return reinterpret_cast<void*>(static_cast<uintptr_t>(0x1000 + ordinal)); }

class DriverHookTest : public ScriptedCudaTest {
 protected:
  void SetUp() override {
    ScriptedCudaTest::SetUp();
    script().num_devices = 2;
    script().total = size_t{256} << 20;
    library_ = dlopen("cc/pjrt/testing/liblooking.so", RTLD_NOW | RTLD_LOCAL);
    driver_ = dlopen(kScriptedCudaPath, RTLD_NOW | RTLD_LOCAL);
    const StatusOr<HookPoint> point = FindHookPoint(library_);
    ASSERT_TRUE(point.ok()) << point.status().message();
    point_ = *point;
    registry_ = std::make_unique<DeviceRegistry>(MakeOptions());
    ASSERT_TRUE(InstallDriverHook(point_, registry_.get()).ok());
    allocate_ = reinterpret_cast<AllocateFunction>(LookUp("cuMemAllocFromPoolAsync"));
    free_ = reinterpret_cast<FreeFunction>(LookUp("cuMemFreeAsync"));
  }

  void TearDown() override {
    registry_->StopHousekeeping();
    RemoveDriverHook(point_);
  }

  static Options MakeOptions() {
    Options options;
    options.driver_path = kScriptedCudaPath;
    options.limit_kind = LimitKind::kBytes;
    options.limit = MiB(64);
    return options;
  }

  void* LookUp(const char* name) {
    return reinterpret_cast<LookUpFunction>(dlsym(library_, "LookUpIn"))(driver_, name);
  }

  unsigned long long Allocate(size_t size, void* pool) {
    unsigned long long address = 0;
    EXPECT_EQ(allocate_(&address, size, pool, nullptr), CUDA_SUCCESS);
    return address;
  }

  int64_t Live(int ordinal) { return registry_->Find(ordinal)->core().Stats().num_live; }

  void* library_ = nullptr;
  void* driver_ = nullptr;
  HookPoint point_;
  std::unique_ptr<DeviceRegistry> registry_;
  AllocateFunction allocate_ = nullptr;
  FreeFunction free_ = nullptr;
};

TEST_F(DriverHookTest, OnlyAllocationsAndStreamsThatEndAreAnsweredByUs) {
  EXPECT_NE(LookUp("cuMemAllocFromPoolAsync"), dlsym(driver_, "cuMemAllocFromPoolAsync"));
  EXPECT_NE(LookUp("cuMemFreeAsync"), dlsym(driver_, "cuMemFreeAsync"));
  EXPECT_NE(LookUp("cuStreamDestroy_v2"), dlsym(driver_, "cuStreamDestroy_v2"));
  EXPECT_NE(LookUp("cuMemCreate"), dlsym(driver_, "cuMemCreate"));
  EXPECT_EQ(LookUp("cuMemRelease"), dlsym(driver_, "cuMemRelease"));
  EXPECT_EQ(LookUp("cuInit"), dlsym(driver_, "cuInit"));
}

TEST_F(DriverHookTest, AnAllocationOfThePluginThatFailsGetsWhatIsIdle) {
  using CreateFunction = int (*)(unsigned long long*, size_t, const CUmemAllocationProp*, unsigned long long);
  ASSERT_TRUE(registry_->Serve({}).ok());
  free_(Allocate(32 << 20, PoolOf(0)), nullptr);
  ASSERT_GE(registry_->Find(0)->core().Stats().bytes_reserved, MiB(32));
  const auto create = reinterpret_cast<CreateFunction>(LookUp("cuMemCreate"));
  const CUmemAllocationProp properties = {};
  unsigned long long block = 0;
  CUcontext context = nullptr;
  reinterpret_cast<CUresult (*)(CUcontext*, CUdevice)>(dlsym(driver_, "cuDevicePrimaryCtxRetain"))(&context, 0);
  state_->set_current_context(context);
  Fail("cuMemCreate", CUDA_ERROR_INVALID_VALUE, 1);
  EXPECT_EQ(create(&block, 2 << 20, &properties, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_GE(registry_->Find(0)->core().Stats().bytes_reserved, MiB(32));
  Fail("cuMemCreate", CUDA_ERROR_OUT_OF_MEMORY, 1);
  EXPECT_EQ(create(&block, 2 << 20, &properties, 0), CUDA_SUCCESS);
  EXPECT_EQ(registry_->Find(0)->core().Stats().bytes_reserved, Bytes(0));
}

TEST_F(DriverHookTest, AStreamThatIsAnotherOneForEachThreadGetsNoMemoryAndTakesNoneBack) {
  ASSERT_TRUE(registry_->Serve({}).ok());
  unsigned long long address = 0;
  testing::internal::CaptureStderr();
  EXPECT_EQ(allocate_(&address, 4096, PoolOf(0), CU_STREAM_PER_THREAD), CUDA_ERROR_NOT_SUPPORTED);
  EXPECT_EQ(Live(0), 0);
  address = Allocate(4096, PoolOf(0));
  EXPECT_EQ(free_(address, CU_STREAM_PER_THREAD), CUDA_ERROR_NOT_SUPPORTED);
  EXPECT_EQ(Live(0), 1);
  EXPECT_EQ(free_(address, CU_STREAM_LEGACY), CUDA_SUCCESS);
  EXPECT_EQ(Live(0), 0);
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_NE(said.find("per-thread default stream"), std::string::npos) << said;
  EXPECT_EQ(said.find("per-thread"), said.rfind("per-thread")) << "it was said twice: " << said;
}

TEST_F(DriverHookTest, MemoryOfOthersIsTheirsOnThePerThreadStreamToo) {
  ASSERT_TRUE(registry_->Serve({}).ok());
  unsigned long long address = 0;
  EXPECT_EQ(allocate_(&address, 4096, PoolOf(7), CU_STREAM_PER_THREAD), CUDA_SUCCESS);
  EXPECT_EQ(seen().pool_allocations, 1);
  EXPECT_EQ(free_(address, CU_STREAM_PER_THREAD), CUDA_SUCCESS);
  EXPECT_EQ(seen().pool_allocations, 0);
}

TEST_F(DriverHookTest, AFunctionThatTheDriverLacksStaysMissing) {
  void* other = dlopen("cc/pjrt/testing/libsilent.so", RTLD_NOW | RTLD_LOCAL);
  const auto look_up = reinterpret_cast<LookUpFunction>(dlsym(library_, "LookUpIn"));
  EXPECT_EQ(look_up(other, "cuMemFreeAsync"), nullptr);
}

TEST_F(DriverHookTest, LookUpsThatDependOnWhoAsksStillSeeThePlugin) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "the product's build makes the tail call that this is about; a sanitizer's does not";
#endif
  const auto look_up = reinterpret_cast<LookUpFunction>(dlsym(library_, "LookUpIn"));
  ASSERT_EQ(dlsym(RTLD_DEFAULT, "LookUpIn"), nullptr) << "the library must be visible to itself alone";
  EXPECT_NE(look_up(RTLD_DEFAULT, "LookUpIn"), nullptr) << "we were taken for the one that asks";
}

TEST_F(DriverHookTest, UntilADeviceIsServedEverythingIsTheDrivers) {
  const unsigned long long address = Allocate(1 << 20, PoolOf(0));
  EXPECT_EQ(seen().pool_allocations, 1);
  ASSERT_TRUE(registry_->Serve({}).ok());
  EXPECT_EQ(free_(address, nullptr), CUDA_SUCCESS);
  EXPECT_EQ(seen().pool_allocations, 0);
}

TEST_F(DriverHookTest, ThePoolNamesTheDevice) {
  ASSERT_TRUE(registry_->Serve({}).ok());
  const unsigned long long first = Allocate(1 << 20, PoolOf(0));
  const unsigned long long second = Allocate(4 << 20, PoolOf(1));
  EXPECT_EQ(Live(0), 1);
  EXPECT_EQ(Live(1), 1);
  EXPECT_EQ(free_(second, nullptr), CUDA_SUCCESS);
  EXPECT_EQ(Live(1), 0);
  EXPECT_EQ(free_(first, nullptr), CUDA_SUCCESS);
  EXPECT_EQ(Live(0), 0);
  EXPECT_EQ(seen().calls["cuMemAllocFromPoolAsync"], 0);
  EXPECT_EQ(seen().calls["cuMemFreeAsync"], 0);
}

TEST_F(DriverHookTest, OtherPoolsAndTheirAddressesPassThrough) {
  ASSERT_TRUE(registry_->Serve({}).ok());
  const unsigned long long address = Allocate(1 << 20, PoolOf(7));
  EXPECT_EQ(seen().pool_allocations, 1);
  EXPECT_EQ(free_(address, nullptr), CUDA_SUCCESS);
  EXPECT_EQ(seen().pool_allocations, 0);
  EXPECT_EQ(registry_->Find(0)->core().Stats().num_allocs, 0);
}

TEST_F(DriverHookTest, ServesOnlyTheDevicesItWasToldTo) {
  ASSERT_TRUE(registry_->Serve({1}).ok());
  EXPECT_EQ(registry_->Find(0), nullptr);
  Allocate(1 << 20, PoolOf(0));
  EXPECT_EQ(seen().pool_allocations, 1);
  Allocate(1 << 20, PoolOf(1));
  EXPECT_EQ(Live(1), 1);
}

TEST_F(DriverHookTest, ExhaustionIsTheDriversOwnErrorAndNotItsPoolsAffair) {
  ASSERT_TRUE(registry_->Serve({}).ok());
  unsigned long long address = 0;
  EXPECT_EQ(allocate_(&address, size_t{65} << 20, PoolOf(0), nullptr), CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(seen().pool_allocations, 0);
  EXPECT_NE(Allocate(size_t{64} << 20, PoolOf(0)), 0);
}

TEST_F(DriverHookTest, ARequestOfNothingIsRefusedAsTheDriverRefusesIt) {
  ASSERT_TRUE(registry_->Serve({}).ok());
  unsigned long long address = 0;
  EXPECT_EQ(allocate_(&address, 0, PoolOf(0), nullptr), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(DriverHookTest, AStreamThatIsDestroyedIsNeverAskedAboutAgain) {
  ASSERT_TRUE(registry_->Serve({0}).ok());
  const auto destroy = reinterpret_cast<int (*)(void*)>(LookUp("cuStreamDestroy_v2"));
  void* const streams[] = {reinterpret_cast<void*>(0x51), reinterpret_cast<void*>(0x52)};
  for (void* stream : streams) {
    unsigned long long address = 0;
    ASSERT_EQ(allocate_(&address, 8 << 20, PoolOf(0), stream), CUDA_SUCCESS);
    ASSERT_EQ(free_(address, stream), CUDA_SUCCESS);
    EXPECT_EQ(destroy(stream), CUDA_SUCCESS);
  }
  EXPECT_EQ(seen().destroyed_streams.size(), 2);
  registry_->ReleaseIdleMemory();
  EXPECT_EQ(seen().blocks, 0);
  EXPECT_TRUE(seen().violations.empty()) << seen().violations.front();
}

TEST_F(DriverHookTest, ManyThreadsOnBothDevicesGetBackToNothing) {
  ASSERT_TRUE(registry_->Serve({}).ok());
  const auto work = [this](int seed) {
    void* const stream = reinterpret_cast<void*>(static_cast<uintptr_t>(0x60 + seed % 2));
    for (int turn = 0; turn < 300; ++turn) {
      unsigned long long address = 0;
      const size_t size = size_t{1} << (8 + (turn * 7 + seed) % 14);
      ASSERT_EQ(allocate_(&address, size, PoolOf((turn + seed) % 2), stream), CUDA_SUCCESS);
      ASSERT_EQ(free_(address, stream), CUDA_SUCCESS);
    }
  };
  std::vector<std::thread> threads;
  for (int seed = 0; seed < 4; ++seed) threads.emplace_back(work, seed);
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(Live(0) + Live(1), 0);
  EXPECT_EQ(registry_->Find(0)->core().Stats().num_allocs + registry_->Find(1)->core().Stats().num_allocs, 1200);
  EXPECT_EQ(registry_->Find(0)->core().CheckInvariants(), "");
}

TEST_F(DriverHookTest, AForkedChildIsRefusedAndTheParentGoesOn) {
  ASSERT_TRUE(registry_->Serve({}).ok());
  const auto mine = Allocate(1 << 20, PoolOf(0));
  const pid_t child = fork();
  if (child == 0) {
    unsigned long long address = 0;
    const int allocated = allocate_(&address, 1 << 20, PoolOf(0), nullptr);
    const bool drops_quietly = free_(mine, nullptr) == CUDA_SUCCESS;
    _exit(allocated == CUDA_SUCCESS || !drops_quietly ? 1 : 0);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(registry_->Find(0)->core().Stats().num_live, 1);
  EXPECT_NE(Allocate(1 << 20, PoolOf(0)), 0);
}

TEST_F(DriverHookTest, ServingIsAllOrNothing) {
  Fail("cuDevicePrimaryCtxRetain", CUDA_ERROR_OUT_OF_MEMORY, 2);
  EXPECT_FALSE(registry_->Serve({}).ok());
  EXPECT_EQ(registry_->Find(0), nullptr);
  EXPECT_EQ(seen().contexts, 0);
  EXPECT_EQ(seen().blocks, 0);
  EXPECT_TRUE(registry_->Serve({}).ok());
}

TEST_F(DriverHookTest, ServingAgainKeepsWhatIsServed) {
  ASSERT_TRUE(registry_->Serve({0}).ok());
  const ServedDevice* const first = registry_->Find(0);
  ASSERT_TRUE(registry_->Serve({}).ok());
  EXPECT_EQ(registry_->Find(0), first);
  EXPECT_NE(registry_->Find(1), nullptr);
}

TEST_F(DriverHookTest, ADeviceThatIsNotThereOrHasNoPoolIsRefused) {
  EXPECT_EQ(registry_->Serve({5}).code(), StatusCode::kInvalidArgument);
  DeviceRegistry without_pools(MakeOptions());
  script().has_pools = false;
  EXPECT_EQ(without_pools.Serve({}).code(), StatusCode::kNotSupported);
}

TEST_F(DriverHookTest, IdleMemoryGoesBackWhenAskedTo) {
  ASSERT_TRUE(registry_->Serve({0}).ok());
  free_(Allocate(8 << 20, PoolOf(0)), nullptr);
  EXPECT_GT(seen().blocks, 0);
  registry_->ReleaseIdleMemory();
  EXPECT_EQ(seen().blocks, 0);
}

TEST_F(DriverHookTest, PreallocationTakesTheLimitAtOnce) {
  Options options = MakeOptions();
  options.preallocate = true;
  DeviceRegistry eager(options);
  ASSERT_TRUE(eager.Serve({0}).ok());
  EXPECT_EQ(eager.Find(0)->core().Stats().bytes_reserved, MiB(64));
  EXPECT_EQ(eager.Find(0)->core().Stats().bytes_in_use, Bytes(0));
  ASSERT_TRUE(eager.Find(0)->core().Allocate(MiB(4), StreamHandle{this}).ok());
  EXPECT_EQ(eager.Find(0)->core().Stats().num_stream_waits, 0) << "requests wait for the stream of the preallocation";
  eager.StopHousekeeping();
}

TEST(HookPointTest, ALibraryThatLooksNothingUpIsRefused) {
  void* library = dlopen("cc/pjrt/testing/libsilent.so", RTLD_NOW | RTLD_LOCAL);
  ASSERT_NE(library, nullptr);
  EXPECT_EQ(FindHookPoint(library).status().code(), StatusCode::kNotSupported);
}

}  // namespace
}  // namespace gmlake
