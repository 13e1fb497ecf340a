// Orders the streams that use the same bytes one after another.
//
// The first stream seen is the owner stream; free memory is always in order on it. A free on another stream makes the
// owner stream wait for that stream; a request on another stream makes that stream wait for the owner. With one stream
// nothing is recorded at all. Nothing here knows of addresses.
//
// A stream that is about to be destroyed leaves an event behind its last work. The next owner stream waits for the
// event of the one before. Where no event can be recorded (the stream is being captured), only a wait for the whole
// device tells that its work is over: a debt.
//
// Unmapping needs more than order: proof that the device is done. What comes free is counted in free epochs
// (Memory::epoch); an event on the owner stream, once complete, proves everything that came free up to the epoch at
// which it was recorded.
#ifndef GMLAKE_CORE_MAPPING_STREAM_ORDER_H_
#define GMLAKE_CORE_MAPPING_STREAM_ORDER_H_

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

// A point in the device's work. Once it is reached, the device has finished with what was free when the fence was
// recorded.
struct Fence {
  std::vector<StreamEnd> events;  // none: there is no owner stream, so nothing to wait for
  bool device = false;            // debts are to be settled: the whole device is waited for
  bool only_device = false;       // ... and nothing less is of use
  int64_t debts = 0;              // up to this one
  int64_t epoch = 0;
};

// Invariant: whatever is free was last used by work that precedes the present end of the owner stream, or, where there
// is none, the ends that it left. Thread rule: the allocator's lock. Cost: a comparison on the owner stream; an event
// and a wait on another.
class StreamOrder {
 public:
  explicit StreamOrder(Driver* driver) : driver_(driver) {}

  // Nothing has to be done for the stream: the case of nearly every request and free.
  bool IsInOrder(StreamHandle stream) const { return has_owner_ && stream == owner_; }
  // `stream` is about to use free memory.
  Status Acquire(StreamHandle stream) { return IsInOrder(stream) ? OkStatus() : AcquireElsewhere(stream); }
  // Work queued on `stream` may still use memory that is to be free after this. Fails during capture.
  Status Release(StreamHandle stream) { return IsInOrder(stream) ? OkStatus() : ReleaseElsewhere(stream); }
  // The same for work that ends with `end`.
  Status ReleaseAfter(const StreamEnd& end);
  // May mappings be changed for a request on `stream`? Not while it, or the owner stream, is being captured.
  Status MayMap(StreamHandle stream);
  // May idle mappings be taken away? Not while the owner stream is being captured.
  Status MayUnmap();

  // The device is done with everything that came free up to this epoch.
  int64_t proven() const { return proven_; }
  bool HasProven(int64_t epoch) const { return epoch <= proven_; }
  // Marks the present, `epoch`; fails during capture.
  StatusOr<Fence> Record(int64_t epoch);
  // Waits on the host for a fence; for the whole device if an event cannot be waited for. Not to be called under the
  // allocator's lock, which a callback of the device may need. Without debts settled, `fence->device` is false after
  // it.
  Status Wait(Fence* fence) const;
  void Prove(const Fence& fence);
  // Proves what can be proved without waiting, and marks the present for the next time.
  void Poll(int64_t epoch);

  // `stream` is about to be destroyed and must not be touched again. If it is the owner, the next stream that is
  // seen becomes the owner. kFailedPrecondition: it is being captured; then, as after any failure, nothing can be lent
  // or unmapped before the device has been waited for.
  Status Retire(StreamHandle stream);
  // The present end of a stream's work; fails during capture.
  StatusOr<StreamEnd> EndOf(StreamHandle stream);
  // Adds work whose end only a wait for the device can prove; returns its number.
  int64_t AddDebt() { return ++debts_; }
  bool IsSettled(int64_t debt) const { return debt <= settled_debts_; }
  bool has_debts() const { return !IsSettled(debts_); }

  int64_t waits() const { return waits_; }

 private:
  Status AcquireElsewhere(StreamHandle stream);
  Status ReleaseElsewhere(StreamHandle stream);
  Status EnsureOwner(StreamHandle stream);
  Status Inherit(StreamHandle stream);
  bool is_orphaned() const { return !IsSettled(owner_debt_); }
  void PollFence();
  // Nothing where a query fails: the fence is of no use.
  std::optional<bool> IsComplete(const Fence& fence) const;
  Status WaitForEvents(const Fence& fence) const;
  Status WaitFor(StreamHandle later, StreamHandle earlier);
  Status RefuseCapture(StreamHandle stream);

  Driver* driver_;
  bool has_owner_ = false;
  StreamHandle owner_;
  std::vector<StreamEnd> inherited_;  // no owner: what the next one waits for
  int64_t debts_ = 0;
  int64_t settled_debts_ = 0;
  int64_t owner_debt_ = 0;      // free memory may still be in use until this one is settled
  std::optional<Fence> fence_;  // what Poll looks at next
  int64_t proven_ = 0;
  int64_t waits_ = 0;
};

}  // namespace gmlake

#endif  // GMLAKE_CORE_MAPPING_STREAM_ORDER_H_
