// Our allocator's speed beside that of the real tsl::BFCAllocator, in one process, on recorded jobs.
//
//   bazel/run run -c opt //cc/bench:speed_main -- $PWD/tests/traces/*.npz
//
// Prints one line of JSON for each trace: nanoseconds per event of both, less the cost of the loop, and their ratios.
// "first" is the first pass of a new allocator, "later" a pass after everything has been freed; each is the fastest of
// several, taken in turn. Neither is under pressure: BFC has one preallocated region, a quarter larger than what is live
// at the peak and made before the first pass; ours has no limit and starts from an empty device.
#include <algorithm>
#include <cstdio>
#include <limits>

#include "cc/bench/gmlake_policy.h"
#include "cc/bench/session.h"
#include "cc/bench/trace_file.h"
#include "cc/bench/tsl_bfc.h"
#include "cc/driver/model_driver.h"

namespace gmlake::bench {
namespace {

constexpr int kRounds = 4;
constexpr int kLaterPasses = 3;
constexpr Bytes kUnlimited = GiB(1024);

class Nothing final : public Policy {
 public:
  Address Allocate(Bytes, StreamHandle) override { return Address(1); }
  void Free(Address, StreamHandle) override {}
};

// Nanoseconds per event of the fastest first pass, and of the fastest later one.
struct Speed {
  double first = std::numeric_limits<double>::max();
  double later = std::numeric_limits<double>::max();
};

double TimePass(const Trace& trace, Session* session) {
  const auto before = session->time_in_policy();
  session->RunPass(/*stop_at_failure=*/false)
      .IgnoreError();  // nothing is checked, so nothing fails
  const auto time = session->time_in_policy() - before;
  session->FreeAll().IgnoreError();
  return static_cast<double>(time.count()) / static_cast<double>(trace.events.size());
}

void Measure(const Trace& trace, const ModelDriver& driver, Policy* policy, Speed* best) {
  Session session(trace, policy, &driver, nullptr);
  best->first = std::min(best->first, TimePass(trace, &session));
  for (int pass = 0; pass < kLaterPasses; ++pass)
    best->later = std::min(best->later, TimePass(trace, &session));
}

void MeasureInTurn(const Trace& trace, Speed* ours, Speed* bfc, Speed* loop) {
  ModelDriver our_driver(kUnlimited), bfc_driver(kUnlimited);
  GmlakePolicy our_policy(&our_driver, kUnlimited);
  const auto bfc_policy = MakeTslBfc(&bfc_driver, trace.peak_live * 5 / 4);
  Nothing nothing;
  Measure(trace, bfc_driver, bfc_policy.get(), bfc);
  Measure(trace, our_driver, &our_policy, ours);
  Measure(trace, our_driver, &nothing, loop);
}

void Compare(const Trace& trace) {
  Speed ours, bfc, loop;
  for (int round = 0; round < kRounds; ++round) MeasureInTurn(trace, &ours, &bfc, &loop);
  const auto print = [&](const char* pass, double our_time, double bfc_time) {
    std::printf(
        ", \"%s_pass\": {\"gmlake_ns_per_op\": %.1f, \"tsl_bfc_ns_per_op\": %.1f, \"ratio\": %.3f}",
        pass, our_time, bfc_time, our_time / bfc_time);
  };
  std::printf("{\"trace\": \"%s\"", trace.name.c_str());
  print("first", ours.first - loop.later, bfc.first - loop.later);
  print("later", ours.later - loop.later, bfc.later - loop.later);
  std::printf("}\n");
  std::fflush(stdout);
}

int Main(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    const auto trace = ReadTrace(argv[i]);
    if (!trace.ok()) return std::fprintf(stderr, "%s\n", trace.status().message().c_str()), 2;
    Compare(*trace);
  }
  return 0;
}

}  // namespace
}  // namespace gmlake::bench

int main(int argc, char** argv) { return gmlake::bench::Main(argc, argv); }
