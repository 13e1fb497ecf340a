// Serves a request that found no room at once: a ladder of ways, each slower than the one before.
//
//   usual           room that exists, for a stream that is in order (Allocator::Allocate; no rung of this class).
//   in order        any way of the placer, after the stream is put in order.
//   after pending   the same once pending frees are retried.
//   after device    the same once the device is done with all that is free.
//   until deadline  the same whenever something was freed, as long as the patience lasts.
//
// The last rung exists because a request may be refused now and served a moment later: XLA drops buffers on its own
// threads, a little after the program let go of them, and another process may give memory of the device back.
#ifndef GMLAKE_CORE_REQUEST_LADDER_H_
#define GMLAKE_CORE_REQUEST_LADDER_H_

#include <chrono>

#include "cc/base/bytes.h"
#include "cc/base/mutex.h"
#include "cc/base/status.h"
#include "cc/core/allocator_options.h"
#include "cc/core/allocator_parts.h"
#include "cc/core/placer.h"
#include "cc/driver/driver.h"

namespace gmlake {

// Model: the rungs above, climbed once per request. Invariant: a request is placed only while the device is awake and
// after its stream was put in order under the same lock. Thread rule: the allocator's lock; the rungs after the first
// release it while they wait, so the tables may have changed afterwards. Cost: the placer's driver calls; then a wait
// for the device; then up to the patience, with a look every millisecond.
class RequestLadder {
 public:
  RequestLadder(AllocatorParts* parts, const Patience& patience);
  RequestLadder(const RequestLadder&) = delete;
  RequestLadder& operator=(const RequestLadder&) = delete;

  // kFailedPrecondition: the device is asleep.
  StatusOr<Placement> Place(Bytes requested, StreamHandle stream, Mutex* mutex) GMLAKE_REQUIRES(mutex);

 private:
  using Clock = std::chrono::steady_clock;
  struct Request {
    Bytes size;  // as placed
    StreamHandle stream;
    bool may_wait = true;  // as in Placer::Request
  };

  // All rungs but the last.
  StatusOr<Placement> ClimbToDevice(const Request& request, Mutex* mutex) GMLAKE_REQUIRES(mutex);
  // The rungs.
  StatusOr<Placement> InOrder(const Request& request);
  StatusOr<Placement> AfterPendingFrees(const Request& request, Mutex* mutex) GMLAKE_REQUIRES(mutex);
  StatusOr<Placement> AfterDevice(Request request, Mutex* mutex) GMLAKE_REQUIRES(mutex);
  // `refused`: the result of the rung before.
  StatusOr<Placement> UntilDeadline(const Request& request, StatusOr<Placement> refused, Mutex* mutex)
      GMLAKE_REQUIRES(mutex);

  StatusOr<Placement> PlaceNow(const Request& request);
  bool HasPending() const { return !parts_->pending.empty() || parts_->order.has_debts(); }
  bool WaitingMayHelp(const Request& request, const StatusOr<Placement>& refused) const;
  StatusOr<Placement> LookUntil(Clock::time_point deadline, const InterruptCheck& interrupted, const Request& request,
                                StatusOr<Placement> refused, Mutex* mutex) GMLAKE_REQUIRES(mutex);
  bool MayComeLater(const StatusOr<Placement>& refused) const;
  std::chrono::milliseconds PatienceFor(Bytes size) const;
  InterruptCheck WatchInterrupts(std::chrono::milliseconds wait) const;

  AllocatorParts* const parts_;
  const Patience patience_;
  Clock::time_point interrupted_until_;  // until then no thread waits for memory that others hold
};

}  // namespace gmlake

#endif  // GMLAKE_CORE_REQUEST_LADDER_H_
