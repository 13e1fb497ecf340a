// Can overlap of kernels break the order that stitching relies on?
//
// A stitched range reaches physical blocks by addresses that their earlier owner did not use. That is sound only if
// what the earlier owner wrote through address A is seen through address B by the next kernel in stream order. Plain
// stream order promises it; programmatic dependent launch (PDL) starts the next kernel before the last one has ended,
// and graphs schedule on their own. This program writes through one address and reads through the other, over and
// over, in every mode, and counts words that read wrong. Each mode also runs with one and the same address, so that a
// race of the mode itself is told apart from one of aliasing.
//
// Build: nvcc -O2 -std=c++17 -gencode=arch=compute_90,code=sm_90 tests/gpu/alias_overlap.cu -lcuda -o alias_overlap
// Run:   ./alias_overlap [ITERATIONS]   prints one JSON object per mode.
#include <cuda.h>
#include <cuda_runtime.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#define CHECK(call)                                                                        \
  do {                                                                                     \
    const int result = static_cast<int>(call);                                             \
    if (result != 0) {                                                                     \
      std::fprintf(stderr, "%s failed with %d at line %d\n", #call, result, __LINE__);     \
      std::exit(1);                                                                        \
    }                                                                                      \
  } while (0)

namespace {

constexpr size_t kBlock = size_t{2} << 20;  // one physical block: the smallest that CUDA maps
constexpr int kThreads = 256;
constexpr int kGrid = 264;  // two thread blocks for each multiprocessor of an H200

enum class Launch { kPlain, kDependent, kDependentPretouch };

__device__ void WaitForPredecessor() { asm volatile("griddepcontrol.wait;" ::: "memory"); }
__device__ void ReleaseSuccessor() { asm volatile("griddepcontrol.launch_dependents;" ::: "memory"); }

// Writes the next value to every word. The value counts up in device memory, so that a graph's replays differ too.
__global__ void Write(uint32_t* words, size_t count, const uint32_t* value, bool dependent) {
  if (dependent) {
    ReleaseSuccessor();
    WaitForPredecessor();
  }
  const uint32_t v = *value + 1;
  for (size_t i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x) words[i] = v;
}

// Counts the words that are not the value just written. With `pretouch` it reads them once before it may rely on
// them, which brings lines of the other address into its caches; that is what a kernel that prefetches would do.
__global__ void Read(const uint32_t* words, size_t count, const uint32_t* value, unsigned long long* wrong,
                     uint32_t* sink, bool dependent, bool pretouch) {
  uint32_t seen = 0;
  if (dependent) {
    ReleaseSuccessor();
    if (pretouch) {
      for (size_t i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x) {
        seen += *const_cast<const volatile uint32_t*>(&words[i]);
      }
      if (seen == 0x5EED5EED) *sink = seen;
    }
    WaitForPredecessor();
  }
  const uint32_t v = *value + 1;
  unsigned long long mistakes = 0;
  for (size_t i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x) {
    mistakes += words[i] != v;
  }
  if (mistakes != 0) atomicAdd(wrong, mistakes);
}

__global__ void Advance(uint32_t* value, bool dependent) {
  if (dependent) {
    ReleaseSuccessor();
    WaitForPredecessor();
  }
  *value += 1;
}

// One physical block of device 0, mapped at two addresses.
struct Aliased {
  uint32_t* a = nullptr;
  uint32_t* b = nullptr;
};

uint32_t* MapAt(CUmemGenericAllocationHandle block, const CUmemAllocationProp& properties) {
  CUdeviceptr address;
  CHECK(cuMemAddressReserve(&address, kBlock, 0, 0, 0));
  CHECK(cuMemMap(address, kBlock, 0, block, 0));
  CUmemAccessDesc access = {};
  access.location = properties.location;
  access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  CHECK(cuMemSetAccess(address, kBlock, &access, 1));
  return reinterpret_cast<uint32_t*>(address);
}

Aliased MakeAliased() {
  CUmemAllocationProp properties = {};
  properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  CUmemGenericAllocationHandle block;
  CHECK(cuMemCreate(&block, kBlock, &properties, 0));
  return {MapAt(block, properties), MapAt(block, properties)};
}

template <typename... Parameters, typename... Arguments>
void Enqueue(cudaStream_t stream, int grid, bool dependent, void (*kernel)(Parameters...), Arguments... arguments) {
  cudaLaunchConfig_t config = {};
  config.gridDim = dim3(grid);
  config.blockDim = dim3(grid == 1 ? 1 : kThreads);
  config.stream = stream;
  cudaLaunchAttribute overlap = {};
  overlap.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  overlap.val.programmaticStreamSerializationAllowed = 1;
  config.attrs = &overlap;
  config.numAttrs = dependent ? 1 : 0;
  CHECK(cudaLaunchKernelEx(&config, kernel, arguments...));
}

struct Counters {
  uint32_t* value;
  uint32_t* sink;
  unsigned long long* wrong;
};

void EnqueueIteration(cudaStream_t stream, uint32_t* to, const uint32_t* from, size_t count, Counters counters,
                      Launch launch) {
  const bool dependent = launch != Launch::kPlain;
  Enqueue(stream, kGrid, dependent, Write, to, count, const_cast<const uint32_t*>(counters.value), dependent);
  Enqueue(stream, kGrid, dependent, Read, from, count, const_cast<const uint32_t*>(counters.value), counters.wrong,
          counters.sink, dependent, launch == Launch::kDependentPretouch);
  Enqueue(stream, 1, dependent, Advance, counters.value, dependent);
}

cudaGraphExec_t CaptureIterations(cudaStream_t stream, int iterations, uint32_t* to, const uint32_t* from, size_t count,
                                  Counters counters, Launch launch) {
  cudaGraph_t graph;
  cudaGraphExec_t executable;
  CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed));
  for (int i = 0; i < iterations; ++i) EnqueueIteration(stream, to, from, count, counters, launch);
  CHECK(cudaStreamEndCapture(stream, &graph));
  CHECK(cudaGraphInstantiate(&executable, graph, 0));
  return executable;
}

const char* Name(Launch launch) {
  switch (launch) {
    case Launch::kPlain: return "plain";
    case Launch::kDependent: return "pdl";
    case Launch::kDependentPretouch: return "pdl_pretouch";
  }
  return "";
}

void RunMode(cudaStream_t stream, const Aliased& memory, Counters counters, Launch launch, bool graph, bool alias,
             int iterations, size_t count) {
  constexpr int kPerGraph = 50;
  CHECK(cudaMemset(counters.wrong, 0, sizeof(*counters.wrong)));
  CHECK(cudaMemset(counters.value, 0, sizeof(*counters.value)));
  CHECK(cudaMemset(memory.a, 0, kBlock));
  const uint32_t* from = alias ? memory.b : memory.a;
  const auto start = std::chrono::steady_clock::now();
  if (graph) {
    cudaGraphExec_t executable = CaptureIterations(stream, kPerGraph, memory.a, from, count, counters, launch);
    for (int i = 0; i < iterations / kPerGraph; ++i) CHECK(cudaGraphLaunch(executable, stream));
    CHECK(cudaStreamSynchronize(stream));
    CHECK(cudaGraphExecDestroy(executable));
  } else {
    for (int i = 0; i < iterations; ++i) EnqueueIteration(stream, memory.a, from, count, counters, launch);
  }
  CHECK(cudaStreamSynchronize(stream));
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  unsigned long long wrong = 0;
  uint32_t value = 0;
  CHECK(cudaMemcpy(&wrong, counters.wrong, sizeof(wrong), cudaMemcpyDeviceToHost));
  CHECK(cudaMemcpy(&value, counters.value, sizeof(value), cudaMemcpyDeviceToHost));
  std::printf("{\"launch\": \"%s\", \"graph\": %s, \"alias\": %s, \"words\": %zu, \"iterations\": %u, "
              "\"wrong_words\": %llu, \"seconds\": %.1f}\n",
              Name(launch), graph ? "true" : "false", alias ? "true" : "false", count, value, wrong, seconds);
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  const int iterations = argc > 1 ? std::atoi(argv[1]) : 1000000;
  CHECK(cudaSetDevice(0));
  CHECK(cudaFree(nullptr));
  const Aliased memory = MakeAliased();
  Counters counters;
  CHECK(cudaMalloc(&counters.value, 4));
  CHECK(cudaMalloc(&counters.sink, 4));
  CHECK(cudaMalloc(&counters.wrong, 8));
  cudaStream_t stream;
  CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  for (const size_t count : {size_t{kGrid} * kThreads, kBlock / 4}) {
    for (const Launch launch : {Launch::kPlain, Launch::kDependent, Launch::kDependentPretouch}) {
      for (const bool graph : {false, true}) {
        for (const bool alias : {false, true}) {
          // The same address is the control: a tenth of the iterations tells whether the mode itself races.
          RunMode(stream, memory, counters, launch, graph, alias, alias ? iterations : iterations / 10, count);
        }
      }
    }
  }
  return 0;
}
