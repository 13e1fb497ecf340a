#include "cc/telemetry/tracks.h"

#include <algorithm>

#include "cc/telemetry/labels.h"

namespace gmlake {

int64_t Tracks::Begin(const std::string& name, Bytes in_use) {
  TrackStats stats;
  stats.bytes_at_start = stats.bytes_in_use = stats.peak_bytes = in_use.count();
  tracks_.push_back({next_id_, name, stats, {}});
  return next_id_++;
}

bool Tracks::Read(int64_t id, TrackStats* stats) const {
  for (const Track& track : tracks_) {
    if (track.id != id) continue;
    *stats = track.stats;
    return true;
  }
  return false;
}

bool Tracks::End(int64_t id) {
  const auto ended = std::find_if(tracks_.begin(), tracks_.end(), [id](const Track& track) { return track.id == id; });
  if (ended == tracks_.end()) return false;
  tracks_.erase(ended);
  return true;
}

void Tracks::OnAlloc(Bytes size, int32_t label, Way way) {
  for (Track& track : tracks_) {
    if (!Counts(&track, label)) continue;
    TrackStats& stats = track.stats;
    ++stats.num_allocs;
    stats.bytes_allocated += size.count();
    if (way == Way::kStitch) stats.bytes_stitched += size.count();
    stats.bytes_in_use += size.count();
    stats.peak_bytes = std::max(stats.peak_bytes, stats.bytes_in_use);
  }
}

void Tracks::OnFree(Bytes size, int32_t label) {
  for (Track& track : tracks_) {
    if (!Counts(&track, label)) continue;
    ++track.stats.num_frees;
    track.stats.bytes_in_use -= size.count();
  }
}

void Tracks::OnFailure(int32_t label) {
  for (Track& track : tracks_) {
    if (Counts(&track, label)) ++track.stats.num_failures;
  }
}

bool Tracks::Counts(Track* track, int32_t label) {
  if (track->name.empty()) return true;
  if (label == kNoLabel) return false;
  if (track->counts.size() <= static_cast<size_t>(label)) track->counts.resize(label + 1, -1);
  int8_t& counts = track->counts[label];
  if (counts < 0) counts = HasName(label, track->name) ? 1 : 0;
  return counts == 1;
}

}  // namespace gmlake
