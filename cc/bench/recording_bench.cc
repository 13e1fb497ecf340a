// What recording costs: a request and its free with recording off, on, and with a track open.
//
//   bazel/run run -c opt //cc/bench:recording_bench
//
// One iteration is two events. The counter `per_event` is the time of an iteration divided by two; what an event costs
// is the difference between two lines.
#include <benchmark/benchmark.h>

#include "cc/core/allocator.h"
#include "cc/driver/model_driver.h"

namespace gmlake::bench {
namespace {

constexpr Bytes kDevice = GiB(80);
constexpr int64_t kEvents = int64_t{1} << 20;
const StreamHandle kStream{reinterpret_cast<void*>(16)};

enum class Watching { kNothing, kRecording, kTracking, kBoth };

void Watch(Watching what, Allocator* allocator) {
  if (what == Watching::kRecording || what == Watching::kBoth) allocator->Record(kEvents);
  if (what == Watching::kTracking || what == Watching::kBoth) allocator->BeginTrack("");
}

// A thousand leases of mixed sizes, so that tables are as large as in a training job.
void Populate(Allocator* allocator) {
  for (int i = 0; i < 1000; ++i) allocator->Allocate(KiB(300) * (1 + i % 97), kStream).status().IgnoreError();
}

void RequestAndFree(benchmark::State& state, Watching what) {
  ModelDriver driver(kDevice);
  Allocator allocator(&driver, AllocatorOptions{kDevice});
  Populate(&allocator);
  allocator.Free(*allocator.Allocate(MiB(64), kStream), kStream);
  Watch(what, &allocator);
  for (auto _ : state) allocator.Free(*allocator.Allocate(MiB(64), kStream), kStream);
  state.counters["per_event"] = benchmark::Counter(2.0 * static_cast<double>(state.iterations()),
                                                   benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}
BENCHMARK_CAPTURE(RequestAndFree, off, Watching::kNothing);
BENCHMARK_CAPTURE(RequestAndFree, recording, Watching::kRecording);
BENCHMARK_CAPTURE(RequestAndFree, tracking, Watching::kTracking);
BENCHMARK_CAPTURE(RequestAndFree, both, Watching::kBoth);

}  // namespace
}  // namespace gmlake::bench

BENCHMARK_MAIN();
