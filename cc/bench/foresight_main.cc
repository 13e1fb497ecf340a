// What a memory of the step could be worth: how much of the time that requests wait for the driver a background thread
// could take over, if it knew which large request comes next.
//
//   foresight_main PAUSE_US TRACE.npz...
//
// The background maps ahead wherever the recorded job pauses for so many microseconds (0: between any two events, as if
// mapping took no time). Three rows for each trace, of the first pass and without a limit: nobody knows anything; the
// next large request is the one that followed the last one the time before; it is known exactly. docs/tuning.md tells
// what came of it.

#include <array>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <vector>

#include "cc/bench/trace_file.h"
#include "cc/core/allocator.h"
#include "cc/driver/model_driver.h"

namespace gmlake::bench {
namespace {

constexpr Bytes kUnlimited = GiB(1024);
constexpr Bytes kLarge = MiB(8);
constexpr StreamHandle kStream{};

enum class Foresight { kNone, kRepeated, kPerfect };
constexpr std::array kKinds = {Foresight::kNone, Foresight::kRepeated, Foresight::kPerfect};
constexpr std::array kNames = {"none", "repeated", "perfect"};

// Model: one trace through one allocator; `large`: its large requests, in their order. Not thread-safe.
class Job {
 public:
  Job(const Trace& trace, Foresight foresight, int64_t pause_us)
      : trace_(trace), foresight_(foresight), pause_us_(pause_us), leases_(trace.num_slots) {
    for (const Event& event : trace.events) {
      if (IsLarge(event)) large_.push_back(event.size);
    }
  }

  void Run() {
    for (size_t i = 0; i < trace_.events.size(); ++i) {
      const Event& event = trace_.events[i];
      event.is_free ? Free(event) : Allocate(event);
      const bool last = i + 1 == trace_.events.size();
      if (!last && trace_.events[i + 1].time_us - event.time_us >= pause_us_) Pause();
    }
  }

  // Driver time inside of requests.
  double waited_us() const { return waited_us_; }
  AllocatorStats Stats() const { return allocator_.Stats(); }

 private:
  static bool IsLarge(const Event& event) { return !event.is_free && event.size >= kLarge; }

  void Allocate(const Event& event) {
    const double before = driver_.calls().time_us;
    leases_[event.slot] = *allocator_.Allocate(event.size, kStream);
    waited_us_ += driver_.calls().time_us - before;
    if (!IsLarge(event)) return;
    follower_[last_] = event.size;
    last_ = event.size;
    ++served_;
  }

  void Free(const Event& event) { allocator_.Free(leases_[event.slot], kStream); }

  void Pause() {
    if (foresight_ == Foresight::kNone) return;
    const bool known = foresight_ == Foresight::kPerfect ? served_ < large_.size() : follower_.count(last_) > 0;
    if (known) allocator_.Expect(foresight_ == Foresight::kPerfect ? large_[served_] : follower_[last_]);
    while (allocator_.Prepare()) {
    }
    allocator_.Maintain();
  }

  const Trace& trace_;
  const Foresight foresight_;
  const int64_t pause_us_;
  ModelDriver driver_{kUnlimited};
  Allocator allocator_{&driver_, {kUnlimited}};
  std::vector<Address> leases_;
  std::vector<Bytes> large_;
  std::map<Bytes, Bytes> follower_;
  Bytes last_;
  size_t served_ = 0;
  double waited_us_ = 0;
};

void Report(const Trace& trace, int64_t pause_us) {
  for (size_t i = 0; i < kKinds.size(); ++i) {
    Job job(trace, kKinds[i], pause_us);
    job.Run();
    const AllocatorStats stats = job.Stats();
    std::printf("%-20s %-9s waited %8.2f ms, ranges made ahead %4lld, used %4lld\n", trace.name.c_str(), kNames[i],
                job.waited_us() / 1000, static_cast<long long>(stats.num_prepared_ranges),
                static_cast<long long>(stats.num_prepared_ranges_used));
  }
}

int Main(int argc, char** argv) {
  if (argc < 3) return std::fprintf(stderr, "usage: foresight_main PAUSE_US TRACE.npz...\n"), 2;
  for (int i = 2; i < argc; ++i) {
    const StatusOr<Trace> trace = ReadTrace(argv[i]);
    if (!trace.ok()) return std::fprintf(stderr, "%s\n", trace.status().message().c_str()), 1;
    Report(*trace, std::atoll(argv[1]));
  }
  return 0;
}

}  // namespace
}  // namespace gmlake::bench

int main(int argc, char** argv) { return gmlake::bench::Main(argc, argv); }
