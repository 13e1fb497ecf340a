// A libcuda.so.1 for unit tests: it obeys a script (which devices, what they can do, which call fails), keeps count of
// calls and of what is still held, and checks that each call comes with the right context and capture mode.
//
// Memory is addresses only; of its content no more is kept than the byte that was last written to all of it. Programs
// run on cc/emulator instead.
#ifndef GMLAKE_DRIVER_TESTING_SCRIPTED_CUDA_H_
#define GMLAKE_DRIVER_TESTING_SCRIPTED_CUDA_H_

#include <cuda.h>

#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace gmlake {

struct CudaScript {
  int num_devices = 1;
  size_t total = size_t{1} << 30;
  bool virtual_memory = true;
  bool file_descriptor = false;
  bool fabric = false;
  bool rdma = false;
  bool has_pools = true;
  std::set<std::pair<int, int>> unreachable;  // (peer, device) pairs without access
  size_t descriptor_limit = SIZE_MAX;         // larger blocks with a file descriptor are refused, as on WSL2
  bool rdma_access_fails = false;             // created, mapped, then refused, as on WSL2
  bool forgets_writes = false;
  CUstream captured_stream = reinterpret_cast<CUstream>(0xCA);

  std::string failing_call;  // returns `failure` at its `failing_nth` call (1 is the next one), 0: at every one
  int failing_nth = 0;
  CUresult failure = CUDA_ERROR_UNKNOWN;

  std::function<void(const std::string& call)> inside;  // called in the midst of every call; may make none itself
};

struct CudaObservations {
  std::map<std::string, int> calls;
  std::vector<CUmemAllocationProp> created;  // properties of each block made, in order
  std::vector<std::vector<int>> access;      // devices of each cuMemSetAccess, in order
  std::vector<std::string> violations;       // wrong context or capture mode, unknown handles
  std::set<CUstream> destroyed_streams;
  int blocks = 0, reservations = 0, mappings = 0;  // held now
  int events = 0, contexts = 0;
  int pool_allocations = 0;  // live ones of the driver's own pool
};

struct ScriptedCuda {
  CudaScript script;
  CudaObservations seen;
  // The thread's current context and what it belongs to; device d has context d + 1.
  CUcontext (*current_context)();
  void (*set_current_context)(CUcontext context);
};

// Exported by libscripted_cuda.so under this name: the state that it obeys and writes to.
using GetScriptedCuda = ScriptedCuda* (*)();
constexpr const char* kGetScriptedCuda = "GetScriptedCuda";
constexpr const char* kScriptedCudaPath = "cc/driver/testing/libscripted_cuda.so";

}  // namespace gmlake

#endif  // GMLAKE_DRIVER_TESTING_SCRIPTED_CUDA_H_
