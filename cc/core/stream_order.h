// Which stream may touch a byte next.
//
// The first stream seen is the home stream; free memory is always in order on it. A free on another stream makes the
// home stream wait for that stream; a request on another stream makes that stream wait for home. With one stream nothing
// is recorded at all. Nothing here knows of addresses.
#ifndef GMLAKE_CORE_STREAM_ORDER_H_
#define GMLAKE_CORE_STREAM_ORDER_H_

#include <cstdint>

#include "cc/base/status.h"
#include "cc/driver/driver.h"

namespace gmlake {

// Invariant: whatever is free was last used by work that precedes the present end of the home stream.
// Thread rule: the allocator's lock. Cost: a comparison on the home stream; an event and a wait on another.
class StreamOrder {
 public:
  explicit StreamOrder(Driver* driver) : driver_(driver) {}

  // `stream` is about to use free memory.
  Status Acquire(StreamHandle stream);
  // Work queued on `stream` may still use memory that is to be free after this. Fails during capture.
  Status Release(StreamHandle stream);
  // May mappings be changed for a request on `stream`? Not while it, or the home stream, is being captured.
  Status MayMap(StreamHandle stream);
  // Waits on the host until all work that may touch free memory is complete. Needed before an unmap.
  Status Quiesce();
  // `stream` is about to be destroyed and must not be touched again. If it is the home stream, its work is waited for on
  // the host, and the next stream that is seen becomes home: free memory is then in order on every stream.
  Status Retire(StreamHandle stream);

  int64_t waits() const { return waits_; }

 private:
  bool IsHome(StreamHandle stream);
  Status WaitFor(StreamHandle later, StreamHandle earlier);
  Status RefuseCapture(StreamHandle stream);

  Driver* driver_;
  bool has_home_ = false;
  StreamHandle home_;
  int64_t waits_ = 0;
};

}  // namespace gmlake

#endif  // GMLAKE_CORE_STREAM_ORDER_H_
