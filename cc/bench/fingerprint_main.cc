// Everything that the allocator decides, as numbers to compare: work on its speed must not change one of them.
//
//   bazel/run run //cc/bench:fingerprint_main -- $PWD/tests/traces/*.npz > before.txt
//
// Prints one line for each job and limit: how many requests were served and refused, how many calls the driver got, and
// one hash over all addresses and all calls with their arguments, in their order. The jobs are the traces given,
// churns, adversaries, and random sizes on three streams; each is run twice over a device that is always done and one
// that rarely is. With --all, every number that is hashed is printed too, a line each, to find the first that differs.
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "cc/bench/adversary.h"
#include "cc/bench/churn.h"
#include "cc/bench/gmlake_policy.h"
#include "cc/bench/script.h"
#include "cc/bench/trace_file.h"
#include "cc/driver/model_driver.h"

namespace gmlake::bench {
namespace {

constexpr Bytes kDevice = GiB(1024);
constexpr Bytes kGranule = MiB(2);
constexpr double kLimitsPerPeak[] = {0, 1.0, 1.005, 1.02, 1.1};  // 0: no limit
constexpr int kMaintenancePeriod = 1000;                         // events
bool print_all = false;

class Hash {
 public:
  void Add(const char* what, uint64_t a, uint64_t b = 0, uint64_t c = 0) {
    for (uint64_t number : {static_cast<uint64_t>(what[0]), a, b, c}) {
      value_ = (value_ ^ number) * 0x9E3779B97F4A7C15ull;
      value_ ^= value_ >> 29;
    }
    if (print_all) std::printf("  %s %" PRIx64 " %" PRIx64 " %" PRIx64 "\n", what, a, b, c);
  }
  uint64_t value() const { return value_; }

 private:
  uint64_t value_ = 0;
};

// Passes everything on and takes its fingerprint. `patience`: an event is complete when asked that often.
class Witness final : public Driver {
 public:
  Witness(Hash* hash, int patience) : hash_(hash), patience_(patience) {}

  int64_t num_calls() const { return num_calls_; }

  Bytes granularity() const override { return driver_.granularity(); }
  StatusOr<BlockHandle> Create(Bytes size) override {
    const auto block = driver_.Create(size);
    Note("Create", size.count(), block.ok() ? block->value : 0);
    return block;
  }
  Status Release(BlockHandle block) override {
    Note("Release", block.value);
    return driver_.Release(block);
  }
  StatusOr<Address> Reserve(Bytes size) override {
    const auto address = driver_.Reserve(size);
    Note("reserve", size.count(), address.ok() ? address->value() : 0);
    return address;
  }
  Status FreeAddress(Address address, Bytes size) override {
    Note("Free", address.value(), size.count());
    return driver_.FreeAddress(address, size);
  }
  Status Map(Address address, Bytes size, BlockHandle block) override {
    Note("Map", address.value(), size.count(), block.value);
    return driver_.Map(address, size, block);
  }
  Status SetAccess(Address address, Bytes size) override {
    Note("SetAccess", address.value(), size.count());
    return driver_.SetAccess(address, size);
  }
  Status Unmap(Address address, Bytes size) override {
    Note("Unmap", address.value(), size.count());
    return driver_.Unmap(address, size);
  }
  StatusOr<EventHandle> RecordEvent(StreamHandle stream) override {
    Note("Event", Number(stream));
    return driver_.RecordEvent(stream);
  }
  StatusOr<bool> IsComplete(EventHandle event) override {
    Note("?", ++questions_);
    if (questions_ % patience_ != 0) return false;
    return driver_.IsComplete(event);
  }
  Status WaitOnHost(EventHandle event) override {
    Note("host", 0);
    return driver_.WaitOnHost(event);
  }
  Status WaitOnDevice() override {
    Note("device", 0);
    return driver_.WaitOnDevice();
  }
  Status WaitOnStream(StreamHandle stream, EventHandle event) override {
    Note("stream", Number(stream));
    return driver_.WaitOnStream(stream, event);
  }
  void DestroyEvent(EventHandle event) override { driver_.DestroyEvent(event); }
  StatusOr<bool> IsCapturing(StreamHandle stream) override { return driver_.IsCapturing(stream); }
  StatusOr<DeviceMemory> QueryMemory() override { return driver_.QueryMemory(); }

 private:
  static uint64_t Number(StreamHandle stream) { return reinterpret_cast<uint64_t>(stream.value); }
  void Note(const char* what, uint64_t a, uint64_t b = 0, uint64_t c = 0) {
    ++num_calls_;
    hash_->Add(what, a, b, c);
  }

  ModelDriver driver_{kDevice};
  Hash* hash_;
  const int patience_;
  int64_t questions_ = 0;
  int64_t num_calls_ = 0;
};

StreamHandle ToStream(int32_t stream) { return {reinterpret_cast<void*>((intptr_t{stream} + 1) * 16)}; }

// One job over one device, twice.
class Run {
 public:
  Run(const Trace& trace, Bytes limit, int patience)
      : trace_(trace), driver_(&hash_, patience), policy_(&driver_, limit), leases_(trace.num_slots) {}

  void Pass() {
    int64_t events = 0;
    for (const Event& event : trace_.events) {
      event.is_free ? Free(event.slot, event.stream) : Allocate(event);
      if (++events % kMaintenancePeriod == 0) policy_.Maintain();
    }
    for (int32_t slot = 0; slot < trace_.num_slots; ++slot) Free(slot, 0);
    policy_.Maintain();
  }

  void Print(double factor, int patience) const {
    std::printf("%-24s %.3f %d: %" PRId64 " served, %" PRId64 " refused, %" PRId64 " calls, %016" PRIx64 "\n",
                trace_.name.c_str(), factor, patience, served_, refused_, driver_.num_calls(), hash_.value());
  }

 private:
  void Allocate(const Event& event) {
    const Address address = policy_.Allocate(event.size, ToStream(event.stream));
    leases_[event.slot] = address;
    ++(address.is_null() ? refused_ : served_);
    hash_.Add("=", address.value(), event.size.count());
  }
  void Free(int32_t slot, int32_t stream) {
    if (!leases_[slot].is_null()) policy_.Free(leases_[slot], ToStream(stream));
    leases_[slot] = Address();
  }

  const Trace& trace_;
  Hash hash_;
  Witness driver_;
  GmlakePolicy policy_;
  std::vector<Address> leases_;
  int64_t served_ = 0;
  int64_t refused_ = 0;
};

void Fingerprint(const Trace& trace, Bytes limit, double factor) {
  for (const int patience : {1, 7}) {
    Run run(trace, limit, patience);
    run.Pass();
    run.Pass();
    run.Print(factor, patience);
  }
}

void FingerprintAtLimits(const Trace& trace) {
  for (const double factor : kLimitsPerPeak) {
    const Bytes limit(static_cast<int64_t>(static_cast<double>(trace.peak_live.count()) * factor));
    Fingerprint(trace, factor == 0 ? kDevice : AlignUp(limit, kGranule), factor);
  }
}

// Sizes from crumbs to slabs, freed at random and by whichever stream.
std::vector<RawEvent> MakeRandomJob(uint64_t seed) {
  const Bytes most = GiB(8);
  Dice dice(seed);
  Script script(100);
  std::vector<int64_t> live;
  for (int i = 0; i < 4000; ++i) {
    const Bytes size = dice.Below(3) == 0 ? dice.Size(Bytes(1), MiB(1)) : dice.Size(MiB(1), GiB(1));
    while (!live.empty() && (script.live() + size > most || dice.Below(4) == 0)) script.Free(dice.Draw(&live));
    live.push_back(script.Allocate(size));
  }
  std::vector<RawEvent> events = script.Finish();
  for (RawEvent& event : events) event.stream = dice.Below(8) == 0 ? dice.Below(3) : 0;
  return events;
}

void FingerprintMadeUp(uint64_t seed) {
  const std::string number = "-" + std::to_string(seed);
  FingerprintAtLimits(*MakeTrace("random" + number, MakeRandomJob(seed)));
  for (const double share : {0.95, 0.99}) {
    const ChurnOptions options{share, GiB(48), 600, seed};
    Fingerprint(*MakeTrace("churn" + number, MakeChurn(options)), options.limit, share);
  }
  for (const std::string& name : AdversaryNames()) {
    const Bytes limit = MiB(22528);
    Fingerprint(*MakeTrace(name + number, MakeAdversary(name, limit, seed)), limit, 0.98);
  }
}

int Main(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    if (std::strcmp(argv[i], "--all") == 0) {
      print_all = true;
      continue;
    }
    const auto trace = ReadTrace(argv[i]);
    if (!trace.ok()) return std::fprintf(stderr, "%s\n", trace.status().message().c_str()), 2;
    FingerprintAtLimits(*trace);
  }
  for (uint64_t seed = 1; seed <= 3; ++seed) FingerprintMadeUp(seed);
  return 0;
}

}  // namespace
}  // namespace gmlake::bench

int main(int argc, char** argv) { return gmlake::bench::Main(argc, argv); }
