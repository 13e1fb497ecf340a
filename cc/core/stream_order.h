// Which stream may touch a byte next.
//
// The first stream seen is the home stream; free memory is always in order on it. A free on another stream makes the
// home stream wait for that stream; a request on another stream makes that stream wait for home. With one stream
// nothing is recorded at all. Nothing here knows of addresses.
//
// Unmapping needs more than order: proof that the device is done. What comes free is counted in ticks (Memory::ticks);
// an event on the home stream, once complete, proves everything that came free up to the tick at which it was recorded.
#ifndef GMLAKE_CORE_STREAM_ORDER_H_
#define GMLAKE_CORE_STREAM_ORDER_H_

#include <cstdint>
#include <optional>

#include "cc/base/status.h"
#include "cc/driver/driver.h"
#include "cc/driver/handles.h"

namespace gmlake {

// A point in the home stream's work, and what was free by then.
struct Mark {
  ScopedEvent event;  // none: there is no home stream, so nothing to wait for
  int64_t tick = 0;
};

// Invariant: whatever is free was last used by work that precedes the present end of the home stream.
// Thread rule: the allocator's lock. Cost: a comparison on the home stream; an event and a wait on another.
class StreamOrder {
 public:
  explicit StreamOrder(Driver* driver) : driver_(driver) {}

  // Nothing has to be done for the stream: the case of nearly every request and free.
  bool IsInOrder(StreamHandle stream) const { return IsHomeNow(stream) && !orphaned_; }
  // `stream` is about to use free memory.
  Status Acquire(StreamHandle stream) { return IsInOrder(stream) ? OkStatus() : AcquireElsewhere(stream); }
  // Work queued on `stream` may still use memory that is to be free after this. Fails during capture.
  Status Release(StreamHandle stream) { return IsInOrder(stream) ? OkStatus() : ReleaseElsewhere(stream); }
  // May mappings be changed for a request on `stream`? Not while it, or the home stream, is being captured.
  Status MayMap(StreamHandle stream);
  // May idle mappings be taken away? Not while the home stream is being captured.
  Status MayUnmap();

  // The device is done with everything that came free up to this tick.
  int64_t proven() const { return proven_; }
  // Marks the present, `tick`; fails during capture.
  StatusOr<Mark> Record(int64_t tick);
  // Waits on the host for a mark. Not to be called under the allocator's lock, which a callback of the device may need.
  Status Wait(const Mark& mark) const;
  void Prove(const Mark& mark);
  // Proves what can be proved without waiting, and marks the present for the next time.
  void Poll(int64_t tick);

  bool IsHomeNow(StreamHandle stream) const { return has_home_ && stream == home_; }
  // The home stream is about to be destroyed and must not be touched again; the next stream that is seen becomes home.
  // `done`: all that is free is proven. Without that, nothing can be lent or unmapped any more.
  void ForgetHome(bool done);

  int64_t waits() const { return waits_; }

 private:
  Status AcquireElsewhere(StreamHandle stream);
  Status ReleaseElsewhere(StreamHandle stream);
  bool IsHome(StreamHandle stream);
  void PollMark();
  Status WaitFor(StreamHandle later, StreamHandle earlier);
  Status RefuseCapture(StreamHandle stream);

  Driver* driver_;
  bool has_home_ = false;
  bool orphaned_ = false;  // free memory may still be in use by a stream that is gone
  StreamHandle home_;
  std::optional<Mark> mark_;  // what Poll looks at next
  int64_t proven_ = 0;
  int64_t waits_ = 0;
};

}  // namespace gmlake

#endif  // GMLAKE_CORE_STREAM_ORDER_H_
