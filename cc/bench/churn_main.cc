// The churn on a real device: our allocator beside the driver's own stream-ordered pool, which XLA's cuda_async uses.
//
//   bazel/run build -c opt //cc/bench:churn_main && bazel-bin/cc/bench/churn_main --churn=0.95 --churn=0.99
//
// Runs on any machine with a driver; nothing else is needed there. Prints one line of JSON for each share and
// allocator. Every request is followed by a kernel that fills it, so memory changes hands while earlier work is queued.
// With --check, first, middle and last word of a buffer are read back before it is freed (which waits for the device,
// and so spoils the times). Options: --limit=BYTES (48 GiB) --requests=N (600) --seed=N (7) --device=N (0)
// --driver=PATH.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <unordered_map>
#include <vector>

#include "cc/bench/churn.h"
#include "cc/core/allocator.h"
#include "cc/driver/cuda_driver.h"
#include "cc/driver/cuda_functions.h"
#include "cc/driver/cuda_library.h"
#include "cc/driver/cuda_work.h"

namespace gmlake::bench {
namespace {

using Clock = std::chrono::steady_clock;
using Microseconds = std::chrono::duration<double, std::micro>;

struct CommandLine {
  std::vector<double> shares;
  ChurnOptions churn;
  int device = 0;
  std::string driver;
  bool check = false;
};

// One of the two allocators.
struct Contestant {
  std::string name;
  std::function<StatusOr<Address>(Bytes)> allocate;
  std::function<Status(Address)> free;
  std::function<void()> maintain;
  std::function<Bytes()> peak_reserved;
};

struct Outcome {
  int failures = 0;
  int wrong_words = 0;
  double total_us = 0;     // allocations, frees and maintenance together
  double maintain_us = 0;  // maintenance alone, which a product does in the background
  double wall_us = 0;
  std::vector<double> allocation_us;
};

class Run {
 public:
  Run(const Contestant& contestant, CudaWork* work, bool check) : contestant_(contestant), work_(work), check_(check) {}

  StatusOr<Outcome> Go(const std::vector<RawEvent>& events) {
    const Clock::time_point start = Clock::now();
    for (const RawEvent& event : events) {
      GMLAKE_RETURN_IF_ERROR(event.op == 0 ? Allocate(event) : Free(event.id));
    }
    Status status = work_->Synchronize();
    outcome_.wall_us = Microseconds(Clock::now() - start).count();
    while (status.ok() && !live_.empty()) status = Free(live_.begin()->first);
    if (!status.ok()) return status;
    std::sort(outcome_.allocation_us.begin(), outcome_.allocation_us.end());
    return outcome_;
  }

 private:
  struct Lease {
    Address address;
    Bytes size;
  };

  double Time(const std::function<void()>& call) {
    const Clock::time_point start = Clock::now();
    call();
    const double time = Microseconds(Clock::now() - start).count();
    outcome_.total_us += time;
    return time;
  }

  Status Allocate(const RawEvent& event) {
    StatusOr<Address> address = Address();
    outcome_.allocation_us.push_back(Time([&] { address = contestant_.allocate(Bytes(event.size)); }));
    outcome_.maintain_us += Time(contestant_.maintain);
    if (!address.ok()) {
      ++outcome_.failures;
      return OkStatus();
    }
    live_[event.id] = {*address, Bytes(event.size)};
    return work_->Fill(*address, Bytes(event.size), Pattern(event.id));
  }

  Status Free(int64_t id) {
    const auto it = live_.find(id);
    if (it == live_.end()) return OkStatus();  // it was refused
    const Lease lease = it->second;
    live_.erase(it);
    if (check_) CheckWords(id, lease);
    Status status;
    Time([&] { status = contestant_.free(lease.address); });
    return status;
  }

  static uint32_t Pattern(int64_t id) { return 0x5a5a0000u + static_cast<uint32_t>(id); }

  void CheckWords(int64_t id, const Lease& lease) {
    for (const Bytes at : {Bytes(0), AlignDown(lease.size / 2, Bytes(4)), lease.size - Bytes(4)}) {
      const auto word = work_->Read(lease.address + at);
      outcome_.wrong_words += !word.ok() || *word != Pattern(id);
    }
  }

  const Contestant& contestant_;
  CudaWork* const work_;
  const bool check_;
  std::unordered_map<int64_t, Lease> live_;
  Outcome outcome_;
};

void Print(const CommandLine& line, double share, const Contestant& contestant, const Outcome& outcome) {
  const auto& times = outcome.allocation_us;
  const auto percentile = [&](size_t percent) { return times[(times.size() - 1) * percent / 100]; };
  std::printf(
      "{\"allocator\": \"%s\", \"share\": %.2f, \"limit_bytes\": %lld, \"requests\": %zu, "
      "\"failures\": %d, "
      "\"p50_us\": %.1f, \"p90_us\": %.1f, \"p99_us\": %.1f, \"max_us\": %.1f, \"total_ms\": %.1f, "
      "\"maintain_ms\": %.1f, \"wall_ms\": %.1f, \"peak_reserved_bytes\": %lld",
      contestant.name.c_str(), share, static_cast<long long>(line.churn.limit.count()), times.size(), outcome.failures,
      percentile(50), percentile(90), percentile(99), times.back(), outcome.total_us / 1000, outcome.maintain_us / 1000,
      outcome.wall_us / 1000, static_cast<long long>(contestant.peak_reserved().count()));
  if (line.check) std::printf(", \"wrong_words\": %d", outcome.wrong_words);
  std::printf("}\n");
  std::fflush(stdout);
}

Contestant Ours(Allocator* allocator, StreamHandle stream) {
  return {"gmlake", [=](Bytes size) { return allocator->Allocate(size, stream); },
          [=](Address address) {
            return allocator->Free(address, stream) ? OkStatus()
                                                    : Status(StatusCode::kInvalidArgument, "not a lease of ours");
          },
          [=] { allocator->Maintain(); }, [=] { return allocator->Stats().peak_bytes_reserved; }};
}

Contestant Pool(CudaWork* work) {
  return {"driver pool", [=](Bytes size) { return work->AllocateFromPool(size); },
          [=](Address address) { return work->FreeToPool(address); }, [] {},
          [=] {
            const auto peak = work->PoolPeak();
            return peak.ok() ? *peak : Bytes(0);
          }};
}

Status Compete(const CommandLine& line, double share, const Contestant& contestant, CudaWork* work) {
  ChurnOptions churn = line.churn;
  churn.utilisation = share;
  const auto outcome = Run(contestant, work, line.check).Go(MakeChurn(churn));
  if (!outcome.ok()) return outcome.status();
  Print(line, share, contestant, *outcome);
  return OkStatus();
}

// Each gets a device without the other's memory, and starts from nothing.
Status RunShare(const CommandLine& line, double share, const CudaFunctions& cuda) {
  auto work = CudaWork::Open(cuda, line.driver, line.device, line.churn.limit);
  if (!work.ok()) return work.status();
  Status status = Compete(line, share, Pool(work->get()), work->get());
  work = CudaWork::Open(cuda, line.driver, line.device, line.churn.limit);
  if (!status.ok() || !work.ok()) return status.ok() ? work.status() : status;
  const auto driver = CudaDriver::Open(cuda, line.device);
  if (!driver.ok()) return driver.status();
  Allocator allocator(driver->get(), AllocatorOptions{line.churn.limit});
  return Compete(line, share, Ours(&allocator, (*work)->stream()), work->get());
}

const char* ValueOf(const char* argument, const char* name) {
  const size_t length = std::strlen(name);
  return std::strncmp(argument, name, length) == 0 && argument[length] == '=' ? argument + length + 1 : nullptr;
}

bool Parse(const char* argument, CommandLine* line) {
  if (const char* value = ValueOf(argument, "--churn")) return line->shares.push_back(std::atof(value)), true;
  if (const char* value = ValueOf(argument, "--limit")) return line->churn.limit = Bytes(std::atoll(value)), true;
  if (const char* value = ValueOf(argument, "--requests")) return line->churn.requests = std::atoi(value), true;
  if (const char* value = ValueOf(argument, "--seed")) return line->churn.seed = std::atoll(value), true;
  if (const char* value = ValueOf(argument, "--device")) return line->device = std::atoi(value), true;
  if (const char* value = ValueOf(argument, "--driver")) return line->driver = value, true;
  return std::strcmp(argument, "--check") == 0 && (line->check = true);
}

int Fail(const std::string& message) { return std::fprintf(stderr, "%s\n", message.c_str()), 1; }

int Main(int argc, char** argv) {
  CommandLine line;
  for (int i = 1; i < argc; ++i) {
    if (!Parse(argv[i], &line)) return Fail(std::string("unknown option ") + argv[i]);
  }
  if (line.shares.empty()) line.shares = {0.95, 0.99};
  const auto cuda = LoadCuda(line.driver);
  if (!cuda.ok()) return Fail(cuda.status().message());
  for (const double share : line.shares) {
    const Status status = RunShare(line, share, *cuda);
    if (!status.ok()) return Fail(status.message());
  }
  return 0;
}

}  // namespace
}  // namespace gmlake::bench

int main(int argc, char** argv) { return gmlake::bench::Main(argc, argv); }
