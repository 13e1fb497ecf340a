// What happens to the memory in use while some part of a program runs: its peak, its growth, what was asked for.
//
// A track counts either every lease of the device or those that carry a name among their labels, whichever thread asked
// for them. Tracks know nothing of each other, so they nest and overlap freely.
#ifndef GMLAKE_TELEMETRY_TRACKS_H_
#define GMLAKE_TELEMETRY_TRACKS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "cc/base/bytes.h"
#include "cc/telemetry/stats.h"

namespace gmlake {

// Of the leases that the track counts. docs/tracking.md defines each for users.
struct TrackStats {
  int64_t bytes_at_start = 0;   // in use when it began
  int64_t bytes_in_use = 0;     // in use now, or when it ended
  int64_t peak_bytes = 0;       // highest bytes_in_use
  int64_t bytes_allocated = 0;  // of all leases handed out, as placed
  int64_t bytes_stitched = 0;   // of these, those that were served by a stitch
  int64_t num_allocs = 0;
  int64_t num_frees = 0;
  int64_t num_failures = 0;  // requests of this thread's label, or of all, that were refused
};

// Thread rule: the allocator's lock. Cost: nothing without tracks; a few nanoseconds for each that is open.
class Tracks {
 public:
  bool empty() const { return tracks_.empty(); }

  // `name`: which leases count; empty for all. `in_use`: their bytes now.
  int64_t Begin(const std::string& name, Bytes in_use);
  // False: there is no such track.
  bool Read(int64_t id, TrackStats* stats) const;
  bool End(int64_t id);

  void OnAlloc(Bytes size, int32_t label, Way way);
  void OnFree(Bytes size, int32_t label);
  void OnFailure(int32_t label);

 private:
  struct Track {
    int64_t id;
    std::string name;
    TrackStats stats;
    std::vector<int8_t> counts;  // by label: 1 yes, 0 no, -1 not yet asked
  };

  static bool Counts(Track* track, int32_t label);

  std::vector<Track> tracks_;
  int64_t next_id_ = 0;
};

}  // namespace gmlake

#endif  // GMLAKE_TELEMETRY_TRACKS_H_
