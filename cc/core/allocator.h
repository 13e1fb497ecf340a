// The allocator of one device: takes the lock, serves the usual request itself, and passes all other work on.
//
// placer.h says how room is found, request_ladder.h what happens where there is none, and reclaimer.h what may be given
// back. cc/telemetry/stats.h defines the numbers.
#ifndef GMLAKE_CORE_ALLOCATOR_H_
#define GMLAKE_CORE_ALLOCATOR_H_

#include <optional>
#include <string>

#include "cc/base/bytes.h"
#include "cc/base/mutex.h"
#include "cc/base/status.h"
#include "cc/core/allocator_options.h"
#include "cc/core/allocator_parts.h"
#include "cc/core/request_ladder.h"
#include "cc/core/sleep_control.h"
#include "cc/driver/driver.h"
#include "cc/telemetry/history.h"
#include "cc/telemetry/stats.h"
#include "cc/telemetry/tracks.h"

namespace gmlake {

// Model: leases at addresses, over free and used bytes of physical blocks. Invariant: what CheckInvariants looks for;
// docs/reliability.md says what it promises. Thread rule: any thread may call any method, and so may a callback of the
// device. There is one lock per device. A request that must map holds it during its driver calls; nobody holds it while
// waiting for the device. Cost: in a steady step Allocate and Free make no driver call and take about 100 ns. Trim,
// SetLimit and a request that would otherwise be refused may wait for the device; Maintain never does.
class Allocator {
 public:
  Allocator(Driver* driver, AllocatorOptions options);
  // Gives free memory back to the driver. Leases stay mapped: their owners may have work queued on any stream.
  ~Allocator();
  Allocator(const Allocator&) = delete;
  Allocator& operator=(const Allocator&) = delete;

  // `stream`: the stream on which the caller will use the memory first.
  StatusOr<Address> Allocate(Bytes size, StreamHandle stream);
  // `stream`: the stream whose queued work may still use the memory. False: there is no lease at the address.
  bool Free(Address address, StreamHandle stream);
  bool Owns(Address address) const;
  std::optional<Bytes> RequestedSize(Address address) const;

  AllocatorStats Stats() const;
  // Also asks the driver, before it takes the lock, what others hold of the device.
  AllocatorStats StatsOfDevice();
  void ResetPeaks();
  // The state at one instant. Its only driver call is that of StatsOfDevice. `recording` may be null; it gets the
  // recording up to the same instant.
  Snapshot TakeSnapshot(Recording* recording = nullptr);
  // Keeps the last `max_events` events from now on, at most 100 million (5.6 GB); 0 stops it. A second start drops what
  // was recorded.
  void Record(int64_t max_events);
  bool is_recording() const;
  // Adds an event with this thread's label to the recording.
  void MarkMoment();
  // Counts the leases whose label has this name, or all where the name is empty. Returns the track's number.
  int64_t BeginTrack(const std::string& name);
  // False: there is no such track. `end`: the track ends.
  bool ReadTrack(int64_t id, TrackStats* stats, bool end);
  // Creates free physical blocks until `target` bytes are held, or as many as the limit allows.
  Status Preallocate(Bytes target);
  // Gives idle physical blocks back until at most `target` bytes are held; returns the bytes given back.
  Bytes Trim(Bytes target);
  // Trims to the new limit first. kFailedPrecondition, and no change: more than that is in use. kInvalidArgument: no
  // device has so much.
  Status SetLimit(Bytes limit);
  // To be called before `stream` is destroyed; the allocator never uses its handle again. Does not wait for its work:
  // the next user of its memory does. kFailedPrecondition: the stream is being captured, and memory that it freed can
  // be leased again only after a wait for the device.
  Status RetireStream(StreamHandle stream);
  // For the policy that decides when idle memory goes back to the device.
  Demand TakeDemand();
  // Reclaims idle ranges over budget and retries pending frees. To be called off the request path.
  void Maintain();

  // Makes host memory for a sleep of `size` bytes in the background. Without a size: for what is leased now.
  Status PrepareSleep(std::optional<Bytes> size);
  // The bytes of it that are still to be made, or why some could not be made.
  StatusOr<Bytes> Unprepared();
  // Copies what is leased to the host and releases all physical memory; every address stays. Until Wake, requests are
  // refused and leases may end. Fails while work is queued. After a failure the device is as it was, or asleep where
  // the driver does not allow that.
  StatusOr<SleepReport> Sleep(const SleepRequest& request);
  // Brings all contents back to their addresses. After a failure the device is still asleep, and Wake may be tried
  // again. Does nothing while the device is awake.
  StatusOr<SleepReport> Wake();
  bool IsAsleep() const;
  // Reads the contents of the lease at `address` from the host while the device sleeps. False: it cannot.
  bool ReadAsleep(Address address, Bytes size, char* to) const;
  // Frees the host memory of earlier sleeps.
  void ReleaseHostStore();
  // Marks the lease at `address` until it ends. False: there is none.
  bool Tag(Address address, int32_t tag);

  // The first problem in the tables, or nothing. Walks all of them: for tests.
  std::string CheckInvariants() const;

 private:
  StatusOr<Address> AllocateSlowly(Bytes size, StreamHandle stream) GMLAKE_REQUIRES(mutex_);
  Placement PlaceUsual(Bytes size, StreamHandle stream) GMLAKE_REQUIRES(mutex_);
  Address Admit(const Placement& placement, Bytes requested, StreamHandle stream) GMLAKE_REQUIRES(mutex_);
  bool MayTrim(Bytes target) GMLAKE_REQUIRES(mutex_);
  Bytes TrimTo(Bytes target) GMLAKE_REQUIRES(mutex_);

  const ReclaimBudget budget_;
  mutable Mutex mutex_;
  AllocatorParts parts_ GMLAKE_GUARDED_BY(mutex_);
  CountingDriver* const driver_;  // of `parts_`; how much memory is free may be asked without the lock
  RequestLadder ladder_ GMLAKE_GUARDED_BY(mutex_);
  SleepControl sleep_ GMLAKE_GUARDED_BY(mutex_);
};

}  // namespace gmlake

#endif  // GMLAKE_CORE_ALLOCATOR_H_
