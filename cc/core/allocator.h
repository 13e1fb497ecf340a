// The entry point of one device's allocator. It takes the lock, keeps streams in order, sends small requests to the
// small pool and the others to the placer, and keeps the books. How room is found is in placer.h; what may be given
// back in reclaimer.h; the numbers in cc/telemetry/stats.h.
#ifndef GMLAKE_CORE_ALLOCATOR_H_
#define GMLAKE_CORE_ALLOCATOR_H_

#include <mutex>
#include <optional>
#include <string>

#include "cc/base/bytes.h"
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

// Model: leases at addresses, over free and used bytes of physical blocks. Invariants: those that CheckInvariants
// looks for; docs/reliability.md says what they promise. Thread rule: any thread may call any method, a callback of the
// device too. One lock per device is held across the driver calls of a request that must map, and never while the
// device is waited for. Cost: in a steady step Allocate and Free make no driver call and take about 100 ns. Trim,
// SetLimit and a request that would otherwise be refused may wait for the device; Maintain never does.
class Allocator {
 public:
  Allocator(Driver* driver, AllocatorOptions options);
  // Gives back what is free. What is still leased stays mapped: its owner may have work queued on any stream.
  ~Allocator();
  Allocator(const Allocator&) = delete;
  Allocator& operator=(const Allocator&) = delete;

  // `stream`: the stream on which the caller will use the memory first.
  StatusOr<Address> Allocate(Bytes size, StreamHandle stream);
  // `stream`: the stream whose queued work may still use the memory. False: the address is not a live lease of ours.
  bool Free(Address address, StreamHandle stream);
  bool Owns(Address address) const;
  std::optional<Bytes> RequestedSize(Address address) const;

  AllocatorStats Stats() const;
  // Asks the driver, before it takes the lock, what others hold of the device; without an answer, as Stats().
  AllocatorStats StatsOfDevice();
  void ResetPeaks();
  // Everything that is there, at one instant; makes no driver call but StatsOfDevice's.
  // `recording`, if given, gets the recording up to the same instant.
  Snapshot TakeSnapshot(Recording* recording = nullptr);
  // From now on the last `max_events` events are kept, at most 100 million (5.6 GB); 0 stops it. Starting again starts
  // anew.
  void Record(int64_t max_events);
  bool is_recording() const;
  // The program names this moment in the recording, with this thread's label.
  void MarkMoment();
  // `name`: which leases count, by their labels; empty for all.
  int64_t BeginTrack(const std::string& name);
  // False: there is no such track. `end`: there will be none afterwards.
  bool ReadTrack(int64_t id, TrackStats* stats, bool end);
  // Creates physical blocks, which nobody leases, until `target` bytes are held, or as many as the limit allows.
  Status Preallocate(Bytes target);
  // Gives idle physical blocks back until at most `target` bytes are held; returns the bytes given back.
  Bytes Trim(Bytes target);
  // Trims to the new limit first; kFailedPrecondition, and no change, if more than that is in use; kInvalidArgument for
  // what no device has.
  Status SetLimit(Bytes limit);
  // To be called before `stream` is destroyed: its handle is never used again. Does not wait for its work; whoever gets
  // its memory next does. kFailedPrecondition: it is being captured, and memory that it freed can be lent again only
  // once the device has been waited for.
  Status RetireStream(StreamHandle stream);
  // What was asked of this allocator, for those who decide when idle memory goes back.
  Demand TakeDemand();
  // Work off the request path: reclaim of idle ranges over budget, completion of pending frees.
  void Maintain();

  // Makes host memory for a sleep of `size` bytes, in the background; without a size, of what is leased now.
  Status PrepareSleep(std::optional<Bytes> size);
  // What of it is still to be made, or why some of it could not be.
  StatusOr<Bytes> Unprepared();
  // Moves what is leased to the host and gives all physical memory back; every address stays. Until Wake, requests are
  // refused and leases may end. Refuses while work is queued. On failure the device is as it was, or, if the driver
  // will not have that, asleep.
  StatusOr<SleepReport> Sleep(const SleepRequest& request);
  // Everything back where it was. On failure the device sleeps on, and Wake may be tried again. Awake: does nothing.
  StatusOr<SleepReport> Wake();
  bool IsAsleep() const;
  // Copies what the lease at `address` holds, from the host, while the device sleeps; false if it cannot.
  bool ReadAsleep(Address address, Bytes size, char* to) const;
  // Gives the host memory of earlier sleeps back.
  void ReleaseHostStore();
  // Marks the lease at `address` for as long as it lives; false if there is none.
  bool Tag(Address address, int32_t tag);

  // What is wrong with the tables, or nothing. Walks everything: for tests.
  std::string CheckInvariants() const;

 private:
  StatusOr<Address> AllocateSlowly(Bytes size, StreamHandle stream, std::unique_lock<std::mutex>* lock);
  Placement PlaceUsual(Bytes size, StreamHandle stream);
  Address Admit(const Placement& placement, Bytes requested, StreamHandle stream);
  bool MayTrim(Bytes target);
  Bytes TrimTo(Bytes target, std::unique_lock<std::mutex>* lock);

  const ReclaimBudget budget_;
  mutable std::mutex mutex_;
  AllocatorParts parts_;
  RequestLadder ladder_;
  SleepControl sleep_;
};

}  // namespace gmlake

#endif  // GMLAKE_CORE_ALLOCATOR_H_
