// Takes note of what an allocator does: for the recording, for tracks, and for the notes of live leases.
//
// The allocator calls one function per event, and the journal passes it on. Nothing here changes a decision.
#ifndef GMLAKE_CORE_JOURNAL_H_
#define GMLAKE_CORE_JOURNAL_H_

#include <cstdint>
#include <vector>

#include "cc/base/bytes.h"
#include "cc/core/tables/chunk.h"
#include "cc/driver/driver.h"
#include "cc/telemetry/history.h"
#include "cc/telemetry/inventory_log.h"
#include "cc/telemetry/labels.h"
#include "cc/telemetry/recorder.h"
#include "cc/telemetry/tracks.h"

namespace gmlake {

// What a snapshot says about a lease besides its bytes.
struct LeaseNote {
  int64_t time_ns = 0;  // when it was handed out; exact to some tenth of a second, or fully while recording
  StreamHandle stream;
  int32_t label = kNoNumber;
  Way way = Way::kSplit;
};

// A lease that begins or ends.
struct LeaseFacts {
  Address address;
  ChunkId chunk;  // the first
  Bytes size;     // as placed
  Bytes requested;
  StreamHandle stream;
};

// A clock that is read for one request in 64 and at every maintenance. Reading it for each request would cost a tenth
// of the request.
class RareClock {
 public:
  int64_t NowNs() {
    if (--reads_left_ < 0) Refresh();
    return now_ns_;
  }
  void Refresh() {
    now_ns_ = CoarseMonotonicNs();
    reads_left_ = kReadsPerRefresh;
  }

 private:
  static constexpr int kReadsPerRefresh = 64;
  int64_t now_ns_ = 0;
  int reads_left_ = 0;
};

// Model: a note per lease, an optional recording, and tracks. Invariant: every live lease has its note. Thread rule:
// the allocator's lock. Cost: two nanoseconds per lease; more only while somebody records or tracks.
class Journal {
 public:
  const Recorder& recorder() const { return recorder_; }
  void StartRecording(int64_t max_events) { inventory_log_.StartRecording(max_events); }
  void StopRecording() { recorder_.Stop(); }
  InventoryLog& inventory_log() { return inventory_log_; }
  const Inventory& inventory() const { return inventory_log_.Read(); }
  Tracks& tracks() { return tracks_; }
  const Tracks& tracks() const { return tracks_; }

  void OnAlloc(const LeaseFacts& lease, Way way) {
    if (notes_.size() <= static_cast<size_t>(lease.chunk)) notes_.resize(2 * lease.chunk + 64);
    notes_[lease.chunk] = {clock_.NowNs(), lease.stream, CurrentLabel(), way};
    if (is_watched()) TellAlloc(lease, &notes_[lease.chunk]);
  }
  void OnFree(const LeaseFacts& lease) {
    if (is_watched()) TellFree(lease);
  }
  void OnMaintenance() {
    clock_.Refresh();
    inventory_log_.Settle();
  }
  void OnRefusal(Bytes requested, StreamHandle stream);
  // An event that has only a size.
  void OnEvent(EventKind kind, Bytes size);

  const LeaseNote& note(ChunkId first) const { return notes_[first]; }

 private:
  bool is_watched() const { return recorder_.is_on() || !tracks_.empty(); }
  void TellAlloc(const LeaseFacts& lease, LeaseNote* note);
  void TellFree(const LeaseFacts& lease);
  void Tell(EventKind kind, const LeaseFacts& lease, const LeaseNote& note, int64_t now_ns);

  Recorder recorder_;
  InventoryLog inventory_log_{&recorder_};
  Tracks tracks_;
  RareClock clock_;
  std::vector<LeaseNote> notes_;  // by first chunk
};

}  // namespace gmlake

#endif  // GMLAKE_CORE_JOURNAL_H_
