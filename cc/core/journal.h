// Whom the allocator tells what it does: those who record, those who track, and those who will ask what a lease is for.
//
// The allocator calls one function where something happens; what becomes of it is decided here. Nothing here changes what
// the allocator does.
#ifndef GMLAKE_CORE_JOURNAL_H_
#define GMLAKE_CORE_JOURNAL_H_

#include <cstdint>
#include <vector>

#include "cc/base/bytes.h"
#include "cc/core/chunk.h"
#include "cc/driver/driver.h"
#include "cc/telemetry/history.h"
#include "cc/telemetry/inventory.h"
#include "cc/telemetry/recorder.h"
#include "cc/telemetry/tracks.h"

namespace gmlake {

// What is known of a lease besides its bytes.
struct LeaseNote {
  int64_t time_ns = 0;  // when it was handed out; to some milliseconds unless recording
  StreamHandle stream;
  int32_t label = kNoNumber;
  Way way = Way::kSplit;
};

// A lease as the allocator hands it out or takes it back.
struct LeaseFacts {
  Address address;
  ChunkId chunk;  // the first
  Bytes size;     // as placed
  Bytes requested;
  StreamHandle stream;
};

// Invariant: `note` is right for every live lease. Thread rule: the allocator's lock. Cost: one note per lease, some
// nanoseconds; more only while somebody records or tracks.
class Journal {
 public:
  Recorder& recorder() { return recorder_; }
  const Recorder& recorder() const { return recorder_; }
  Inventory& inventory() { return inventory_; }
  const Inventory& inventory() const { return inventory_; }
  Tracks& tracks() { return tracks_; }
  const Tracks& tracks() const { return tracks_; }

  void OnAlloc(const LeaseFacts& lease, Way way);
  void OnFree(const LeaseFacts& lease);
  void OnRefusal(Bytes requested, StreamHandle stream);
  // Something that has a size and no more.
  void OnEvent(EventKind kind, Bytes size);

  const LeaseNote& note(ChunkId first) const { return notes_[first]; }

 private:
  bool is_watched() const { return recorder_.is_on() || !tracks_.empty(); }
  void Tell(EventKind kind, const LeaseFacts& lease, const LeaseNote& note, int64_t now_ns);

  Recorder recorder_;
  Inventory inventory_{&recorder_};
  Tracks tracks_;
  std::vector<LeaseNote> notes_;  // by first chunk
};

}  // namespace gmlake

#endif  // GMLAKE_CORE_JOURNAL_H_
