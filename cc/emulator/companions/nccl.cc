// libnccl: communicators exist and tell who they are; collectives move nothing and succeed, as kernels
// do, but the memory that they would touch is checked.
#include <cstddef>
#include <cstring>

#include "cc/emulator/companions/companion.h"

using gmlake::emulator::CallDriver;

namespace {

constexpr int kVersion = 22900;
constexpr int kInvalidUsage = 5;

struct Communicator {
  int size, rank;
};

struct UniqueId {
  char bytes[128];
};

// Bytes of an element, by ncclDataType_t: int8, uint8, int32, uint32, int64, uint64, float16, float32, float64,
// bfloat16, and two kinds of float8.
constexpr size_t kElementBytes[] = {1, 1, 4, 4, 8, 8, 2, 4, 8, 2, 1, 1};

struct Buffer {
  const void* begin;
  size_t count;
};

// Moves nothing, but the driver checks that every rank's device may reach the buffers.
int Queue(Buffer from, Buffer to, int type, const Communicator* communicator, void* stream) {
  const size_t element = kElementBytes[type];
  return CallDriver<int>("gmlake_emulator_collective", 0, from.begin, from.count * element, to.begin,
                         to.count * element, communicator->size, stream);
}

int Make(Communicator** communicator, int size, int rank) {
  *communicator = new Communicator{size, rank};
  return 0;
}

}  // namespace

GMLAKE_EXPORT int ncclGetVersion(int* version) {
  *version = kVersion;
  return 0;
}

GMLAKE_EXPORT int ncclGetUniqueId(UniqueId* id) {
  std::memset(id, 1, sizeof *id);
  return 0;
}

GMLAKE_EXPORT const char* ncclGetErrorString(int error) { return error == 0 ? "no error" : "emulated NCCL error"; }

GMLAKE_EXPORT const char* ncclGetLastError(Communicator*) { return "none"; }

GMLAKE_EXPORT int ncclCommInitRank(Communicator** communicator, int size, UniqueId, int rank) {
  return Make(communicator, size, rank);
}

GMLAKE_EXPORT int ncclCommInitRankConfig(Communicator** communicator, int size, UniqueId, int rank, void*) {
  return Make(communicator, size, rank);
}

GMLAKE_EXPORT int ncclCommInitRankScalable(Communicator** communicator, int size, int rank, int, UniqueId*, void*) {
  return Make(communicator, size, rank);
}

GMLAKE_EXPORT int ncclCommSplit(Communicator* communicator, int, int, Communicator** part, void*) {
  return Make(part, communicator->size, communicator->rank);
}

// Communicators are few and may still be named by work that runs, so none is ever freed.
GMLAKE_EXPORT int ncclCommDestroy(Communicator*) { return 0; }

GMLAKE_EXPORT int ncclCommAbort(Communicator*) { return 0; }

GMLAKE_EXPORT int ncclCommFinalize(Communicator*) { return 0; }

GMLAKE_EXPORT int ncclCommGetAsyncError(Communicator*, int* error) {
  *error = 0;
  return 0;
}

GMLAKE_EXPORT int ncclCommCount(const Communicator* communicator, int* size) {
  *size = communicator->size;
  return 0;
}

GMLAKE_EXPORT int ncclCommUserRank(const Communicator* communicator, int* rank) {
  *rank = communicator->rank;
  return 0;
}

GMLAKE_EXPORT int ncclCommCuDevice(const Communicator* communicator, int* device) {
  *device = communicator->rank;
  return 0;
}

GMLAKE_EXPORT int ncclCommRegister(Communicator* communicator, void*, size_t, void** handle) {
  *handle = communicator;
  return 0;
}

GMLAKE_EXPORT int ncclCommDeregister(Communicator*, void*) { return 0; }

GMLAKE_EXPORT int ncclGroupStart() { return 0; }

GMLAKE_EXPORT int ncclGroupEnd() { return 0; }

GMLAKE_EXPORT int ncclAllReduce(const void* from, void* to, size_t count, int type, int, Communicator* communicator,
                                void* stream) {
  return Queue({from, count}, {to, count}, type, communicator, stream);
}

GMLAKE_EXPORT int ncclBroadcast(const void* from, void* to, size_t count, int type, int, Communicator* communicator,
                                void* stream) {
  return Queue({from, count}, {to, count}, type, communicator, stream);
}

// `count` is what each rank gives, so `to` holds that much of everyone.
GMLAKE_EXPORT int ncclAllGather(const void* from, void* to, size_t count, int type, Communicator* communicator,
                                void* stream) {
  return Queue({from, count}, {to, count * communicator->size}, type, communicator, stream);
}

// `count` is what each rank gets.
GMLAKE_EXPORT int ncclReduceScatter(const void* from, void* to, size_t count, int type, int, Communicator* communicator,
                                    void* stream) {
  return Queue({from, count * communicator->size}, {to, count}, type, communicator, stream);
}

GMLAKE_EXPORT int ncclAlltoAll(const void* from, void* to, size_t count, int type, Communicator* communicator,
                               void* stream) {
  return Queue({from, count * communicator->size}, {to, count * communicator->size}, type, communicator, stream);
}

GMLAKE_EXPORT int ncclSend(const void* from, size_t count, int type, int, Communicator* communicator, void* stream) {
  return Queue({from, count}, {nullptr, 0}, type, communicator, stream);
}

GMLAKE_EXPORT int ncclRecv(void* to, size_t count, int type, int, Communicator* communicator, void* stream) {
  return Queue({nullptr, 0}, {to, count}, type, communicator, stream);
}

// XLA asks what kind of link there is, and takes a refusal for the plainest; so does an older NCCL refuse.
GMLAKE_EXPORT int ncclCommQueryProperties(const Communicator*, void*) { return kInvalidUsage; }
