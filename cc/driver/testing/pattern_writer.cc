#include "cc/driver/testing/pattern_writer.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "cc/driver/cuda_functions.h"
#include "cc/driver/cuda_status.h"
#include "cc/driver/cuda_table.h"

#define GMLAKE_PATTERN_FUNCTIONS(X) \
  X(cuCtxSynchronize)               \
  X(cuStreamCreate)                 \
  X(cuStreamDestroy)                \
  X(cuStreamSynchronize)            \
  X(cuMemAlloc)                     \
  X(cuMemFree)                      \
  X(cuMemHostAlloc)                 \
  X(cuMemFreeHost)                  \
  X(cuMemsetD32Async)               \
  X(cuMemcpyDtoHAsync)              \
  X(cuModuleLoadData)               \
  X(cuModuleGetFunction)            \
  X(cuLaunchKernel)                 \
  X(cuStreamBeginCapture)           \
  X(cuStreamEndCapture)             \
  X(cuGraphInstantiateWithFlags)    \
  X(cuGraphLaunch)                  \
  X(cuGraphDestroy)                 \
  X(cuGraphExecDestroy)

namespace gmlake {
namespace {

struct Functions {
  GMLAKE_CUDA_TABLE(GMLAKE_PATTERN_FUNCTIONS)
};

constexpr uint32_t FirstWord(uint32_t owner) { return owner * 0x9E3779B1u; }

// What both inks do alike: the context and its streams.
class CudaInk : public PatternWriter {
 public:
  explicit CudaInk(const CudaFunctions& cuda) : cuda_(cuda) {}

  Status Open(const std::string& path, int ordinal) {
    const StatusOr<void*> library = OpenCudaLibrary(path);
    if (!library.ok()) return library.status();
    Status status = work_.Resolve(*library);
    CUdevice device = 0;
    CUcontext context = nullptr;
    if (status.ok()) status = Say(cuda_.cuDeviceGet(&device, ordinal), "cuDeviceGet");
    if (status.ok()) {
      status = Say(cuda_.cuDevicePrimaryCtxRetain(&context, device), "cuDevicePrimaryCtxRetain");
    }
    if (status.ok()) status = Say(cuda_.cuCtxSetCurrent(context), "cuCtxSetCurrent");
    return status.ok() ? Prepare() : status;
  }

  Status BeginCapture(StreamHandle stream) override {
    return Say(work_.cuStreamBeginCapture(Raw(stream), CU_STREAM_CAPTURE_MODE_RELAXED), "cuStreamBeginCapture");
  }

  StatusOr<GraphHandle> EndCapture(StreamHandle stream) override {
    CUgraph graph = nullptr;
    CUgraphExec executable = nullptr;
    Status status = Say(work_.cuStreamEndCapture(Raw(stream), &graph), "cuStreamEndCapture");
    if (!status.ok()) return status;
    status = Say(work_.cuGraphInstantiateWithFlags(&executable, graph, 0), "cuGraphInstantiate");
    work_.cuGraphDestroy(graph);
    if (!status.ok()) return status;
    return GraphHandle{executable};
  }

  Status Replay(GraphHandle graph, StreamHandle stream) override {
    return Say(work_.cuGraphLaunch(static_cast<CUgraphExec>(graph.value), Raw(stream)), "cuGraphLaunch");
  }

  Status DestroyGraph(GraphHandle graph, StreamHandle stream) override {
    Status status = Say(work_.cuStreamSynchronize(Raw(stream)), "cuStreamSynchronize");
    if (!status.ok()) return status;
    return Say(work_.cuGraphExecDestroy(static_cast<CUgraphExec>(graph.value)), "cuGraphExecDestroy");
  }

  StatusOr<StreamHandle> NewStream() override {
    CUstream stream = nullptr;
    const Status status = Say(work_.cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING), "cuStreamCreate");
    if (!status.ok()) return status;
    return StreamHandle{stream};
  }

  Status DestroyStream(StreamHandle stream) override {
    Status status = Say(work_.cuStreamSynchronize(Raw(stream)), "cuStreamSynchronize");
    return status.ok() ? Say(work_.cuStreamDestroy(Raw(stream)), "cuStreamDestroy") : status;
  }

 protected:
  virtual Status Prepare() = 0;

  Status Say(CUresult result, const char* call) const { return ToStatus(cuda_, result, call); }
  Status Wait() const { return Say(work_.cuCtxSynchronize(), "cuCtxSynchronize"); }
  static CUstream Raw(StreamHandle stream) { return static_cast<CUstream>(stream.value); }

  const CudaFunctions& cuda_;
  Functions work_;
};

// paint: word i becomes value + i. check: counts the words that are not that. Both stride over the whole grid.
constexpr char kKernels[] = R"(
.version 7.0
.target sm_70
.address_size 64
.visible .entry paint(.param .u64 p_base, .param .u64 p_words, .param .u32 p_value) {
  .reg .pred %p; .reg .b32 %r<7>; .reg .b64 %rd<7>;
  ld.param.u64 %rd1, [p_base];
  ld.param.u64 %rd2, [p_words];
  ld.param.u32 %r1, [p_value];
  mov.u32 %r2, %ctaid.x; mov.u32 %r3, %ntid.x; mov.u32 %r4, %tid.x; mov.u32 %r5, %nctaid.x;
  mul.wide.u32 %rd3, %r2, %r3;
  cvt.u64.u32 %rd4, %r4;
  add.s64 %rd3, %rd3, %rd4;
  mul.wide.u32 %rd5, %r5, %r3;
paint_next:
  setp.ge.u64 %p, %rd3, %rd2;
  @%p bra paint_done;
  shl.b64 %rd6, %rd3, 2;
  add.s64 %rd6, %rd1, %rd6;
  cvt.u32.u64 %r6, %rd3;
  add.u32 %r6, %r6, %r1;
  st.global.u32 [%rd6], %r6;
  add.s64 %rd3, %rd3, %rd5;
  bra paint_next;
paint_done:
  ret;
}
.visible .entry check(.param .u64 p_base, .param .u64 p_words, .param .u32 p_value, .param .u64 p_wrong) {
  .reg .pred %p; .reg .b32 %r<8>; .reg .b64 %rd<9>;
  ld.param.u64 %rd1, [p_base];
  ld.param.u64 %rd2, [p_words];
  ld.param.u32 %r1, [p_value];
  ld.param.u64 %rd7, [p_wrong];
  mov.u32 %r2, %ctaid.x; mov.u32 %r3, %ntid.x; mov.u32 %r4, %tid.x; mov.u32 %r5, %nctaid.x;
  mul.wide.u32 %rd3, %r2, %r3;
  cvt.u64.u32 %rd4, %r4;
  add.s64 %rd3, %rd3, %rd4;
  mul.wide.u32 %rd5, %r5, %r3;
  mov.u64 %rd8, 1;
check_next:
  setp.ge.u64 %p, %rd3, %rd2;
  @%p bra check_done;
  shl.b64 %rd6, %rd3, 2;
  add.s64 %rd6, %rd1, %rd6;
  cvt.u32.u64 %r6, %rd3;
  add.u32 %r6, %r6, %r1;
  ld.global.u32 %r7, [%rd6];
  setp.eq.u32 %p, %r6, %r7;
  @%p bra check_right;
  red.global.add.u64 [%rd7], %rd8;
check_right:
  add.s64 %rd3, %rd3, %rd5;
  bra check_next;
check_done:
  ret;
}
)";

// Both ways are kernels, and the count of wrong words stays on the device until somebody asks.
class KernelInk final : public CudaInk {
 public:
  using CudaInk::CudaInk;
  ~KernelInk() override {
    if (wrong_ != 0) work_.cuMemFree(wrong_);
  }

  Status Paint(Address address, Bytes size, uint32_t owner, StreamHandle stream) override {
    return Launch(paint_, address, size, FirstWord(owner), stream);
  }

  Status Check(Address address, Bytes size, Bytes offset, uint32_t owner, StreamHandle stream) override {
    const uint32_t first = FirstWord(owner) + static_cast<uint32_t>(offset / Bytes(4));
    return Launch(check_, address, size, first, stream);
  }

  StatusOr<int64_t> WrongWords() override {
    int64_t wrong = 0;
    Status status = Wait();
    if (status.ok()) status = Say(cuda_.cuMemcpyDtoH(&wrong, wrong_, sizeof(wrong)), "cuMemcpyDtoH");
    if (!status.ok()) return status;
    return wrong;
  }

 private:
  Status Prepare() override {
    CUmodule module = nullptr;
    Status status = Say(work_.cuModuleLoadData(&module, kKernels), "cuModuleLoadData");
    if (status.ok()) status = Say(work_.cuModuleGetFunction(&paint_, module, "paint"), "cuModuleGetFunction");
    if (status.ok()) status = Say(work_.cuModuleGetFunction(&check_, module, "check"), "cuModuleGetFunction");
    if (status.ok()) status = Say(work_.cuMemAlloc(&wrong_, sizeof(int64_t)), "cuMemAlloc");
    return status.ok() ? Say(cuda_.cuMemsetD8(wrong_, 0, sizeof(int64_t)), "cuMemsetD8") : status;
  }

  Status Launch(CUfunction kernel, Address address, Bytes size, uint32_t value, StreamHandle stream) {
    uint64_t base = address.value(), words = static_cast<uint64_t>(size / Bytes(4));
    void* arguments[] = {&base, &words, &value, &wrong_};
    constexpr uint64_t kThreads = 256, kMostThreadBlocks = 1056;
    const uint64_t blocks = std::clamp<uint64_t>((words + kThreads - 1) / kThreads, 1, kMostThreadBlocks);
    return Say(work_.cuLaunchKernel(kernel, static_cast<unsigned>(blocks), 1, 1, kThreads, 1, 1, 0, Raw(stream),
                                    arguments, nullptr),
               "cuLaunchKernel");
  }

  CUfunction paint_ = nullptr, check_ = nullptr;
  CUdeviceptr wrong_ = 0;
};

// Fills of one value for each 2 MiB, and copies to the host, compared there when the buffer for them is full.
class CopyInk final : public CudaInk {
 public:
  using CudaInk::CudaInk;
  ~CopyInk() override {
    if (buffer_ != nullptr) work_.cuMemFreeHost(buffer_);
  }

  Status Paint(Address address, Bytes size, uint32_t owner, StreamHandle stream) override {
    Status status;
    for (Bytes at; status.ok() && at + Bytes(4) <= size; at += kStep) {
      const size_t words = static_cast<size_t>(std::min(kStep, size - at) / Bytes(4));
      status =
          Say(work_.cuMemsetD32Async((address + at).value(), Value(owner, at), words, Raw(stream)), "cuMemsetD32Async");
    }
    return status;
  }

  Status Check(Address address, Bytes size, Bytes offset, uint32_t owner, StreamHandle stream) override {
    Status status;
    for (Bytes at; status.ok() && at < size; at += kStep) {
      status = Fetch(address + at, std::min(kStep, size - at), offset + at, owner, stream);
    }
    return status;
  }

  StatusOr<int64_t> WrongWords() override {
    Status status = Wait();
    if (!status.ok()) return status;
    for (const Fetched& fetched : fetched_) Compare(fetched);
    fetched_.clear();
    filled_ = Bytes(0);
    return wrong_;
  }

 private:
  static constexpr Bytes kStep = MiB(2);
  static constexpr Bytes kBuffer = MiB(64);
  struct Fetched {
    const char* content;
    Bytes size, offset;
    uint32_t owner;
  };

  static uint32_t Value(uint32_t owner, Bytes offset) {
    return FirstWord(owner) + static_cast<uint32_t>(offset / kStep);
  }

  Status Prepare() override {
    void* buffer = nullptr;
    Status status = Say(work_.cuMemHostAlloc(&buffer, kBuffer.count(), 0), "cuMemHostAlloc");
    buffer_ = static_cast<char*>(buffer);
    return status;
  }

  Status Fetch(Address address, Bytes size, Bytes offset, uint32_t owner, StreamHandle stream) {
    if (kBuffer < filled_ + AlignUp(size, Bytes(256))) {
      const StatusOr<int64_t> emptied = WrongWords();
      if (!emptied.ok()) return emptied.status();
    }
    char* const place = buffer_ + filled_.count();
    filled_ += AlignUp(size, Bytes(256));
    fetched_.push_back({place, size, offset, owner});
    return Say(work_.cuMemcpyDtoHAsync(place, address.value(), size.count(), Raw(stream)), "cuMemcpyDtoHAsync");
  }

  void Compare(const Fetched& fetched) {
    const auto* const words = reinterpret_cast<const uint32_t*>(fetched.content);
    for (int64_t i = 0; i < fetched.size / Bytes(4); ++i) {
      wrong_ += words[i] != Value(fetched.owner, fetched.offset + Bytes(4 * i));
    }
  }

  char* buffer_ = nullptr;
  Bytes filled_;
  std::vector<Fetched> fetched_;
  int64_t wrong_ = 0;
};

template <typename Kind>
StatusOr<std::unique_ptr<PatternWriter>> Make(const CudaFunctions& cuda, const std::string& path, int ordinal) {
  auto ink = std::make_unique<Kind>(cuda);
  const Status status = ink->Open(path, ordinal);
  if (!status.ok()) return status;
  return std::unique_ptr<PatternWriter>(std::move(ink));
}

}  // namespace

StatusOr<std::unique_ptr<PatternWriter>> MakeKernelInk(const CudaFunctions& cuda, const std::string& path,
                                                       int ordinal) {
  return Make<KernelInk>(cuda, path, ordinal);
}

StatusOr<std::unique_ptr<PatternWriter>> MakeCopyInk(const CudaFunctions& cuda, const std::string& path, int ordinal) {
  return Make<CopyInk>(cuda, path, ordinal);
}

}  // namespace gmlake
