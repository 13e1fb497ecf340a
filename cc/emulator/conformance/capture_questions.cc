#include "cc/emulator/conformance/capture_questions.h"

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "cc/emulator/conformance/steps.h"

namespace gmlake::conformance {
namespace {

// What a call answers while a stream of this thread is being captured, and whether the capture survives it.
struct CaptureQuestion {
  const char* name;
  std::function<CUresult(CUstream captured, CUstream other)> call;
};

std::vector<CaptureQuestion> AllocationsDuringCapture() {
  static CUdeviceptr plain = 0;
  if (plain == 0) GMLAKE_MUST(GMLAKE_CALL(cuMemAlloc)(&plain, 1000));
  return {
      {"mem_alloc",
       [](CUstream, CUstream) {
         CUdeviceptr p;
         return GMLAKE_CALL(cuMemAlloc)(&p, 1000);
       }},
      {"mem_free", [](CUstream, CUstream) { return GMLAKE_CALL(cuMemFree)(std::exchange(plain, 0)); }},
      {"host_alloc",
       [](CUstream, CUstream) {
         void* p;
         return GMLAKE_CALL(cuMemHostAlloc)(&p, 4096, 0);
       }},
      {"mem_get_info",
       [](CUstream, CUstream) {
         size_t f, t;
         return GMLAKE_CALL(cuMemGetInfo)(&f, &t);
       }},
  };
}

std::vector<CaptureQuestion> MappingCallsDuringCapture() {
  static CUdeviceptr at = MustReserve(kGranule), freed = MustReserve(kGranule);
  static CUmemGenericAllocationHandle block = MustCreate(kGranule), extra = 0;
  return {
      {"create", [](CUstream, CUstream) { return Create(&extra, kGranule); }},
      {"release", [](CUstream, CUstream) { return Release(extra); }},
      {"reserve",
       [](CUstream, CUstream) {
         CUdeviceptr p;
         return GMLAKE_CALL(cuMemAddressReserve)(&p, kGranule, 0, 0, 0);
       }},
      {"address_free", [](CUstream, CUstream) { return FreeAddress(freed, kGranule); }},
      {"map", [](CUstream, CUstream) { return Map(at, kGranule, block); }},
      {"set_access", [](CUstream, CUstream) { return SetAccess(at, kGranule); }},
      {"unmap", [](CUstream, CUstream) { return Unmap(at, kGranule); }},
  };
}

std::vector<CaptureQuestion> CopiesAndPoolDuringCapture() {
  static Pair pair;
  return {
      {"memcpy_sync",
       [](CUstream, CUstream) {
         int x = 1;
         return GMLAKE_CALL(cuMemcpyHtoD)(pair.at, &x, sizeof x);
       }},
      {"memset_sync", [](CUstream, CUstream) { return GMLAKE_CALL(cuMemsetD8)(pair.at, 1, 16); }},
      {"pool_alloc_other_stream",
       [](CUstream, CUstream s) {
         CUdeviceptr p;
         return GMLAKE_CALL(cuMemAllocAsync)(&p, 64, s);
       }},
      {"pool_alloc_captured_stream",
       [](CUstream s, CUstream) {
         CUdeviceptr p;
         return GMLAKE_CALL(cuMemAllocAsync)(&p, 64, s);
       }},
  };
}

std::vector<CaptureQuestion> StreamCallsDuringCapture() {
  static CUevent event = nullptr;
  if (event == nullptr) GMLAKE_MUST(GMLAKE_CALL(cuEventCreate)(&event, CU_EVENT_DISABLE_TIMING));
  return {
      {"event_record_other_stream", [](CUstream, CUstream s) { return GMLAKE_CALL(cuEventRecord)(event, s); }},
      {"event_query", [](CUstream, CUstream) { return GMLAKE_CALL(cuEventQuery)(event); }},
      {"event_synchronize", [](CUstream, CUstream) { return GMLAKE_CALL(cuEventSynchronize)(event); }},
      {"event_create",
       [](CUstream, CUstream) {
         CUevent e;
         return GMLAKE_CALL(cuEventCreate)(&e, 0);
       }},
      {"event_record_captured_stream_then_query",
       [](CUstream s, CUstream) {
         CUevent e;
         GMLAKE_CALL(cuEventCreate)(&e, CU_EVENT_DISABLE_TIMING);
         GMLAKE_CALL(cuEventRecord)(e, s);
         return GMLAKE_CALL(cuEventQuery)(e);
       }},
      {"stream_synchronize_captured", [](CUstream s, CUstream) { return GMLAKE_CALL(cuStreamSynchronize)(s); }},
      {"stream_query_captured", [](CUstream s, CUstream) { return GMLAKE_CALL(cuStreamQuery)(s); }},
      {"stream_synchronize_other", [](CUstream, CUstream s) { return GMLAKE_CALL(cuStreamSynchronize)(s); }},
      {"stream_query_other", [](CUstream, CUstream s) { return GMLAKE_CALL(cuStreamQuery)(s); }},
      {"stream_create",
       [](CUstream, CUstream) {
         CUstream s;
         return GMLAKE_CALL(cuStreamCreate)(&s, 1);
       }},
      {"context_synchronize", [](CUstream, CUstream) { return GMLAKE_CALL(cuCtxSynchronize)(); }},
      {"legacy_stream_query", [](CUstream, CUstream) { return GMLAKE_CALL(cuStreamQuery)(nullptr); }},
      {"launch_host_func_other",
       [](CUstream, CUstream s) { return GMLAKE_CALL(cuLaunchHostFunc)(s, [](void*) {}, nullptr); }},
      {"wait_event_other", [](CUstream, CUstream s) { return GMLAKE_CALL(cuStreamWaitEvent)(s, event, 0); }},
      {"wait_event_captured_not_in_capture",
       [](CUstream s, CUstream) { return GMLAKE_CALL(cuStreamWaitEvent)(s, event, 0); }},
  };
}

void AskDuringCapture(const char* mode_name, CUstreamCaptureMode mode, const CaptureQuestion& question) {
  CUstream captured = nullptr, other = nullptr;
  GMLAKE_MUST(GMLAKE_CALL(cuStreamCreate)(&captured, CU_STREAM_NON_BLOCKING));
  GMLAKE_MUST(GMLAKE_CALL(cuStreamCreate)(&other, CU_STREAM_NON_BLOCKING));
  GMLAKE_MUST(GMLAKE_CALL(cuCtxSynchronize)());  // so that no answer depends on how far earlier work has got
  GMLAKE_MUST(GMLAKE_CALL(cuStreamBeginCapture)(captured, mode));
  const CUresult answer = question.call(captured, other);
  CUgraph graph = nullptr;
  const CUresult end = GMLAKE_CALL(cuStreamEndCapture)(captured, &graph);
  const std::string name = std::string("capture.") + mode_name + "." + question.name;
  Answer(name.c_str(), answer);
  Answer((name + ".end").c_str(), end);
}

}  // namespace

void AskAboutCapture() {
  const struct {
    const char* name;
    CUstreamCaptureMode mode;
  } modes[] = {{"global", CU_STREAM_CAPTURE_MODE_GLOBAL},
               {"thread_local", CU_STREAM_CAPTURE_MODE_THREAD_LOCAL},
               {"relaxed", CU_STREAM_CAPTURE_MODE_RELAXED}};
  for (const auto& mode : modes) {
    for (const auto& question : AllocationsDuringCapture()) AskDuringCapture(mode.name, mode.mode, question);
    for (const auto& question : MappingCallsDuringCapture()) AskDuringCapture(mode.name, mode.mode, question);
    for (const auto& question : CopiesAndPoolDuringCapture()) AskDuringCapture(mode.name, mode.mode, question);
    for (const auto& question : StreamCallsDuringCapture()) AskDuringCapture(mode.name, mode.mode, question);
  }
}

}  // namespace gmlake::conformance
