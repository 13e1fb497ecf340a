#include "cc/core/journal.h"

namespace gmlake {
namespace {

uint64_t Number(StreamHandle stream) { return reinterpret_cast<uint64_t>(stream.value); }

}  // namespace

void Journal::TellAlloc(const LeaseFacts& lease, LeaseNote* note) {
  tracks_.OnAlloc(lease.size, note->label, note->way);
  if (!recorder_.is_on()) return;
  note->time_ns = MonotonicNs();
  Tell(EventKind::kAlloc, lease, *note, note->time_ns);
}

void Journal::TellFree(const LeaseFacts& lease) {
  tracks_.OnFree(lease.size, note(lease.chunk).label);
  if (recorder_.is_on()) Tell(EventKind::kFree, lease, note(lease.chunk), MonotonicNs());
}

void Journal::OnRefusal(Bytes requested, StreamHandle stream) {
  if (!is_watched()) return;
  tracks_.OnFailure(CurrentLabel());
  if (!recorder_.is_on()) return;
  Event event;
  event.kind = EventKind::kRefused;
  event.size = event.requested = requested.count();
  event.stream = Number(stream);
  event.annotation = CurrentLabel();
  recorder_.Add(event, MonotonicNs());
}

void Journal::OnEvent(EventKind kind, Bytes size) {
  if (!recorder_.is_on()) return;
  Event event;
  event.kind = kind;
  event.size = size.count();
  event.annotation = CurrentLabel();
  recorder_.Add(event, MonotonicNs());
}

void Journal::Tell(EventKind kind, const LeaseFacts& lease, const LeaseNote& note, int64_t now_ns) {
  Event event;
  event.kind = kind;
  event.address = lease.address.value();
  event.size = lease.size.count();
  event.requested = lease.requested.count();
  event.stream = Number(lease.stream);
  event.range = inventory().RangeAt(lease.address);
  event.annotation = note.label;
  event.way = kind == EventKind::kAlloc ? WayNumber(note.way) : uint8_t{0};
  recorder_.Add(event, now_ns);
}

}  // namespace gmlake
