// libnccl: communicators exist and tell who they are; collectives move nothing and succeed, as kernels do.
#include <cstring>

#include "cc/emulator/companions/companion.h"

namespace {

constexpr int kVersion = 22900;

struct Communicator {
  int size, rank;
};

struct UniqueId {
  char bytes[128];
};

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

// The arguments are not looked at, so they are not named.
GMLAKE_EXPORT int ncclAllReduce() { return 0; }
GMLAKE_EXPORT int ncclAllGather() { return 0; }
GMLAKE_EXPORT int ncclReduceScatter() { return 0; }
GMLAKE_EXPORT int ncclBroadcast() { return 0; }
GMLAKE_EXPORT int ncclAlltoAll() { return 0; }
GMLAKE_EXPORT int ncclSend() { return 0; }
GMLAKE_EXPORT int ncclRecv() { return 0; }
