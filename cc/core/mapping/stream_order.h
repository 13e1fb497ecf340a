// Which stream may touch a byte next.
//
// The first stream seen is the home stream; free memory is always in order on it. A free on another stream makes the
// home stream wait for that stream; a request on another stream makes that stream wait for home. With one stream
// nothing is recorded at all. Nothing here knows of addresses.
//
// A stream that is about to be destroyed leaves an event behind its last work. The next home stream waits for the event
// of the one before. Where no event can be recorded (the stream is being captured), only a wait for the whole device
// tells that its work is over: a debt.
//
// Unmapping needs more than order: proof that the device is done. What comes free is counted in ticks (Memory::ticks);
// an event on the home stream, once complete, proves everything that came free up to the tick at which it was recorded.
#ifndef GMLAKE_CORE_STREAM_ORDER_H_
#define GMLAKE_CORE_STREAM_ORDER_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "cc/base/status.h"
#include "cc/driver/driver.h"
#include "cc/driver/handles.h"

namespace gmlake {

// The end of a stream's work at some moment. Shared, because others may wait for it without the lock.
using StreamEnd = std::shared_ptr<const ScopedEvent>;

// A point in the device's work, and what was free by then.
struct Mark {
  std::vector<StreamEnd> events;  // none: there is no home stream, so nothing to wait for
  bool device = false;            // debts are to be settled: the whole device is waited for
  bool only_device = false;       // ... and nothing less is of use
  int64_t debts = 0;              // up to this one
  int64_t tick = 0;
};

// Invariant: whatever is free was last used by work that precedes the present end of the home stream, or, where there
// is none, the ends that it left. Thread rule: the allocator's lock. Cost: a comparison on the home stream; an event
// and a wait on another.
class StreamOrder {
 public:
  explicit StreamOrder(Driver* driver) : driver_(driver) {}

  // Nothing has to be done for the stream: the case of nearly every request and free.
  bool IsInOrder(StreamHandle stream) const { return has_home_ && stream == home_; }
  // `stream` is about to use free memory.
  Status Acquire(StreamHandle stream) { return IsInOrder(stream) ? OkStatus() : AcquireElsewhere(stream); }
  // Work queued on `stream` may still use memory that is to be free after this. Fails during capture.
  Status Release(StreamHandle stream) { return IsInOrder(stream) ? OkStatus() : ReleaseElsewhere(stream); }
  // The same for work that ends with `end`.
  Status ReleaseAfter(const StreamEnd& end);
  // May mappings be changed for a request on `stream`? Not while it, or the home stream, is being captured.
  Status MayMap(StreamHandle stream);
  // May idle mappings be taken away? Not while the home stream is being captured.
  Status MayUnmap();

  // The device is done with everything that came free up to this tick.
  int64_t proven() const { return proven_; }
  bool HasProven(int64_t tick) const { return tick <= proven_; }
  // Marks the present, `tick`; fails during capture.
  StatusOr<Mark> Record(int64_t tick);
  // Waits on the host for a mark; for the whole device if an event cannot be waited for. Not to be called under the
  // allocator's lock, which a callback of the device may need. Without debts settled, `mark->device` is false after it.
  Status Wait(Mark* mark) const;
  void Prove(const Mark& mark);
  // Proves what can be proved without waiting, and marks the present for the next time.
  void Poll(int64_t tick);

  // `stream` is about to be destroyed and must not be touched again. If it is home, the next stream that is seen
  // becomes home. kFailedPrecondition: it is being captured; then, as after any failure, nothing can be lent or
  // unmapped before the device has been waited for.
  Status Retire(StreamHandle stream);
  // The present end of a stream's work; fails during capture.
  StatusOr<StreamEnd> EndOf(StreamHandle stream);
  // Work that only a wait for the device can prove to be over; returns its number.
  int64_t AddDebt() { return ++debts_; }
  bool IsSettled(int64_t debt) const { return debt <= settled_debts_; }
  bool has_debts() const { return !IsSettled(debts_); }

  int64_t waits() const { return waits_; }

 private:
  Status AcquireElsewhere(StreamHandle stream);
  Status ReleaseElsewhere(StreamHandle stream);
  Status EnsureHome(StreamHandle stream);
  Status Inherit(StreamHandle stream);
  bool is_orphaned() const { return !IsSettled(home_debt_); }
  void PollMark();
  // Nothing where a query fails: the mark is of no use.
  std::optional<bool> IsComplete(const Mark& mark) const;
  Status WaitForEvents(const Mark& mark) const;
  Status WaitFor(StreamHandle later, StreamHandle earlier);
  Status RefuseCapture(StreamHandle stream);

  Driver* driver_;
  bool has_home_ = false;
  StreamHandle home_;
  std::vector<StreamEnd> inherited_;  // no home: what the next one waits for
  int64_t debts_ = 0;
  int64_t settled_debts_ = 0;
  int64_t home_debt_ = 0;     // free memory may still be in use until this one is settled
  std::optional<Mark> mark_;  // what Poll looks at next
  int64_t proven_ = 0;
  int64_t waits_ = 0;
};

}  // namespace gmlake

#endif  // GMLAKE_CORE_STREAM_ORDER_H_
