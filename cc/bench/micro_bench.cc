// The core's own speed, one way of serving a request at a time, with google-benchmark.
//
//   bazel/run run -c opt //cc/bench:micro_bench
//
// Each iteration is a request and a free, so that the state it measures stays the same. Frees come from other threads
// than requests do wherever XLA lets a buffer die in a callback.
#include <benchmark/benchmark.h>

#include <atomic>
#include <vector>

#include "cc/core/allocator.h"
#include "cc/driver/model_driver.h"

namespace gmlake::bench {
namespace {

constexpr Bytes kDevice = GiB(80);
const StreamHandle kStream{reinterpret_cast<void*>(16)};

class Device {
 public:
  explicit Device(Bytes limit = kDevice) : allocator_(&driver_, AllocatorOptions{limit}) {}

  Address Allocate(Bytes size) {
    const auto address = allocator_.Allocate(size, kStream);
    return address.ok() ? *address : Address();
  }
  void Free(Address address) { allocator_.Free(address, kStream); }
  void AllocateAndFree(Bytes size) { Free(Allocate(size)); }
  Allocator& allocator() { return allocator_; }
  int64_t driver_calls() const { return driver_.calls().memory_calls(); }
  int64_t reuses() const { return allocator_.Stats().by_way[static_cast<int>(Way::kReuse)].count; }

 private:
  ModelDriver driver_{kDevice};
  Allocator allocator_;
};

// A thousand leases of mixed sizes, so that tables and trees are as large as in a training job.
std::vector<Address> Populate(Device* device) {
  std::vector<Address> leases;
  for (int i = 0; i < 1000; ++i) leases.push_back(device->Allocate(KiB(300) * (1 + i % 97)));
  return leases;
}

// The counter shows that the way measured is the way meant: none of these calls the driver once it is warm.
void Report(benchmark::State& state, const Device& device, int64_t calls_before) {
  state.counters["driver_calls"] = static_cast<double>(device.driver_calls() - calls_before);
}

void BM_Reuse(benchmark::State& state) {
  Device device;
  Populate(&device);
  const Bytes size = MiB(state.range(0));
  device.AllocateAndFree(size);
  const int64_t calls = device.driver_calls();
  for (auto _ : state) device.AllocateAndFree(size);
  Report(state, device, calls);
}
BENCHMARK(BM_Reuse)->Arg(2)->Arg(64)->Arg(1024);

void BM_Small(benchmark::State& state) {
  Device device;
  Populate(&device);
  const Bytes size(state.range(0));
  device.AllocateAndFree(size);
  const int64_t calls = device.driver_calls();
  for (auto _ : state) device.AllocateAndFree(size);
  Report(state, device, calls);
}
BENCHMARK(BM_Small)->Arg(256)->Arg(4096)->Arg(256 << 10);

// Sizes that never repeat, out of a large idle piece.
void BM_Split(benchmark::State& state) {
  Device device;
  Populate(&device);
  device.AllocateAndFree(GiB(4));
  const int64_t calls = device.driver_calls();
  int64_t i = 0;
  for (auto _ : state) device.AllocateAndFree(MiB(8) + Bytes(256) * (i++ % 65536));
  Report(state, device, calls);
}
BENCHMARK(BM_Split);

// Room for this many bytes, but none of it contiguous: every second of many pieces is free.
constexpr Bytes kScattered = MiB(512);

void Scatter(Device* device) {
  std::vector<Address> leases;
  for (Bytes made(0); made < 2 * kScattered; made += MiB(32)) leases.push_back(device->Allocate(MiB(32)));
  for (size_t i = 0; i < leases.size(); i += 2) device->Free(leases[i]);
}

// A request that only a stitched range can serve: mapped by the first, used again by the others.
void BM_StitchedReuse(benchmark::State& state) {
  Device device(2 * kScattered);
  Scatter(&device);
  device.AllocateAndFree(kScattered);
  const int64_t calls = device.driver_calls();
  const int64_t reuses = device.reuses();
  for (auto _ : state) device.AllocateAndFree(kScattered);
  Report(state, device, calls);
  state.counters["reuses_per_request"] =
      static_cast<double>(device.reuses() - reuses) / static_cast<double>(state.iterations());
}
BENCHMARK(BM_StitchedReuse);

// A step of a job: many leases, freed in the order in which they were made.
void BM_Step(benchmark::State& state) {
  Device device;
  std::vector<Address> leases(state.range(0));
  const auto step = [&] {
    for (size_t i = 0; i < leases.size(); ++i) leases[i] = device.Allocate(KiB(64) * static_cast<int64_t>(1 + i % 301));
    for (const Address lease : leases) device.Free(lease);
  };
  step();
  const int64_t calls = device.driver_calls();
  for (auto _ : state) step();
  state.SetItemsProcessed(state.iterations() * static_cast<int64_t>(leases.size()) * 2);
  Report(state, device, calls);
}
BENCHMARK(BM_Step)->Arg(100)->Arg(2000);

// Each thread puts what it allocates into the one slot and frees what it finds there: mostly the other thread's.
void BM_FreeFromAnotherThread(benchmark::State& state) {
  static Device* const device = new Device;
  static std::atomic<uint64_t> slot{0};
  for (auto _ : state) {
    const uint64_t found = slot.exchange(device->Allocate(MiB(2)).value());
    if (found != 0) device->Free(Address(found));
  }
}
BENCHMARK(BM_FreeFromAnotherThread)->Threads(1)->Threads(2)->UseRealTime();

void BM_Statistics(benchmark::State& state) {
  Device device;
  Populate(&device);
  for (auto _ : state) benchmark::DoNotOptimize(device.allocator().Stats());
}
BENCHMARK(BM_Statistics);

}  // namespace
}  // namespace gmlake::bench

BENCHMARK_MAIN();
