// Our allocator's speed beside that of the real tsl::BFCAllocator, in one process, on recorded jobs.
//
//   bazel/run run -c opt //cc/bench:speed_main -- $PWD/tests/traces/*.npz
//
// Prints one line of JSON for each trace: nanoseconds per event of both, less the cost of the loop, and their ratios.
// "first" is the first pass of a new allocator, "later" a pass after everything has been freed; several of each are
// taken in turn, and every 100 ms of the trace counts at its fastest (fastest.h). Neither is under pressure: BFC has
// one preallocated region, a quarter larger than what is live at the peak and made before the first pass; ours has no
// limit and starts from an empty device.
#include <cstdio>

#include "cc/bench/fastest.h"
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

struct Speed {
  Fastest first;
  Fastest later;
};

void AddPass(Session* session, Fastest* fastest) {
  const size_t before = session->segment_times().size();
  session->RunPass(/*stop_at_failure=*/false).IgnoreError();  // nothing is checked, so nothing fails
  const auto& times = session->segment_times();
  fastest->Add({times.begin() + before, times.end()});
  session->FreeAll().IgnoreError();
}

void Measure(const Trace& trace, const ModelDriver& driver, Policy* policy, Speed* speed) {
  Session session(trace, policy, &driver, nullptr);
  AddPass(&session, &speed->first);
  for (int pass = 0; pass < kLaterPasses; ++pass) AddPass(&session, &speed->later);
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

double PerEvent(const Trace& trace, const Fastest& policy, const Fastest& loop) {
  return static_cast<double>((policy.total() - loop.total()).count()) / static_cast<double>(trace.events.size());
}

void Print(const char* pass, double ours, double bfc) {
  std::printf(", \"%s_pass\": {\"gmlake_ns_per_op\": %.1f, \"tsl_bfc_ns_per_op\": %.1f, \"ratio\": %.3f}", pass, ours,
              bfc, ours / bfc);
}

void Compare(const Trace& trace) {
  Speed ours, bfc, loop;
  for (int round = 0; round < kRounds; ++round) MeasureInTurn(trace, &ours, &bfc, &loop);
  std::printf("{\"trace\": \"%s\"", trace.name.c_str());
  Print("first", PerEvent(trace, ours.first, loop.later), PerEvent(trace, bfc.first, loop.later));
  Print("later", PerEvent(trace, ours.later, loop.later), PerEvent(trace, bfc.later, loop.later));
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
