// Patterns on a device's memory: written by queued work, and compared by queued work, at whatever address.
//
// Word i of what `owner` paints is a value of owner and i, so that a word of another owner and a word at a wrong place
// both show. Two inks: kernels (PTX, which the driver compiles), for GPUs; fills and copies, which the emulated device
// really does. Free of cuda.h, so that cc/safety may include it.
#ifndef GMLAKE_DRIVER_TESTING_PATTERN_WRITER_H_
#define GMLAKE_DRIVER_TESTING_PATTERN_WRITER_H_

#include <cstdint>
#include <memory>
#include <string>

#include "cc/base/bytes.h"
#include "cc/base/status.h"
#include "cc/driver/driver.h"

namespace gmlake {

struct CudaFunctions;

// CUgraphExec. Null: none.
struct GraphHandle {
  void* value = nullptr;
};

// Thread rule: one thread. Cost of a call: a launch or a few; nothing waits but WrongWords and, with copies, a Check
// that finds its buffer full.
class PatternWriter {
 public:
  virtual ~PatternWriter() = default;

  // Paints whole words; a rest of `size` below a word stays as it is.
  virtual Status Paint(Address address, Bytes size, uint32_t owner, StreamHandle stream) = 0;
  // Compares [address, address + size) with what `owner` painted from its byte `offset` on.
  virtual Status Check(Address address, Bytes size, Bytes offset, uint32_t owner, StreamHandle stream) = 0;
  // Waits for everything that is queued; words found wrong since the start.
  virtual StatusOr<int64_t> WrongWords() = 0;

  // What is painted between these two becomes a graph, which runs when it is replayed, as often as it is replayed.
  virtual Status BeginCapture(StreamHandle stream) = 0;
  virtual StatusOr<GraphHandle> EndCapture(StreamHandle stream) = 0;
  virtual Status Replay(GraphHandle graph, StreamHandle stream) = 0;
  // Waits for `stream`, the last on which it was replayed.
  virtual Status DestroyGraph(GraphHandle graph, StreamHandle stream) = 0;

  virtual StatusOr<StreamHandle> NewStream() = 0;
  // Waits for the stream.
  virtual Status DestroyStream(StreamHandle stream) = 0;
};

// Makes the device's primary context current for this thread. `path`: the driver that `cuda` was loaded from.
StatusOr<std::unique_ptr<PatternWriter>> MakeKernelInk(const CudaFunctions& cuda, const std::string& path, int ordinal);
StatusOr<std::unique_ptr<PatternWriter>> MakeCopyInk(const CudaFunctions& cuda, const std::string& path, int ordinal);

}  // namespace gmlake

#endif  // GMLAKE_DRIVER_TESTING_PATTERN_WRITER_H_
