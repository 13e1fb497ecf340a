#include "cc/core/sleep/saved_bytes.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace gmlake {
namespace {

// Where the granule at `address` ends; addresses of granules are multiples of their size.
Address GranuleEnd(Address address, Bytes granularity) {
  const uint64_t size = static_cast<uint64_t>(granularity.count());
  return Address((address.value() / size + 1) * size);
}

// Calls `visit(part)` for the parts of `whole` where there are still blocks; neighbours are one part.
template <typename Visit>
void ForEachPresent(const BlockTable& blocks, const Interval& whole, Visit visit) {
  Interval part{whole.from, Bytes(0)};
  for (Address at = whole.from; at < whole.end();) {
    const BlockId id = blocks.At(at);
    const Address next = id == kNone ? GranuleEnd(at, blocks.granularity()) : std::min(blocks[id].end(), whole.end());
    if (id != kNone) part.size += next - at;
    if (part.size > Bytes(0) && (id == kNone || next == whole.end())) visit(part);
    if (id == kNone) part = {next, Bytes(0)};
    at = next;
  }
}

}  // namespace

Status SavedBytes::Save(const std::vector<Interval>& kept, const std::vector<Interval>& dropped) {
  Forget();
  for (const Interval& interval : kept) bytes_ += interval.size;
  Status status = store_.Prepare(bytes_);
  if (status.ok()) status = CopyOut(kept);
  const Status finished = pieces_.empty() ? OkStatus() : copier_->Finish();
  if (status.ok()) status = finished;
  if (status.ok()) {
    zeros_ = dropped;
  } else {
    Forget();
  }
  return status;
}

// Chunk after chunk is filled to its end, with pieces that follow each other.
Status SavedBytes::CopyOut(const std::vector<Interval>& kept) {
  int64_t chunk = 0;
  Bytes used;
  for (Interval rest : kept) {
    while (rest.size > Bytes(0)) {
      GMLAKE_ASSIGN_OR_RETURN(char* const memory, store_.Await(chunk));
      const Bytes size = std::min(rest.size, store_.SizeOf(chunk) - used);
      GMLAKE_RETURN_IF_ERROR(Copy({{rest.from, size}, memory + used.count()}));
      rest = {rest.from + size, rest.size - size};
      used += size;
      if (used < store_.SizeOf(chunk)) continue;
      ++chunk;
      used = Bytes(0);
    }
  }
  return OkStatus();
}

Status SavedBytes::Copy(const Piece& piece) {
  pieces_.push_back(piece);
  return copier_->ToHost(piece.host, piece.home.from, piece.home.size);
}

void SavedBytes::Clip(const BlockTable& blocks) {
  std::vector<Piece> pieces;
  bytes_ = Bytes(0);
  for (const Piece& piece : pieces_) {
    ForEachPresent(blocks, piece.home, [&](const Interval& part) {
      pieces.push_back({part, piece.host + (part.from - piece.home.from).count()});
      bytes_ += part.size;
    });
  }
  pieces_ = std::move(pieces);
  std::vector<Interval> zeros;
  for (const Interval& zero : zeros_) {
    ForEachPresent(blocks, zero, [&](const Interval& part) { zeros.push_back(part); });
  }
  zeros_ = std::move(zeros);
}

Status SavedBytes::Restore() {
  Status status;
  for (auto piece = pieces_.begin(); status.ok() && piece != pieces_.end(); ++piece) {
    status = copier_->ToDevice(piece->home.from, piece->host, piece->home.size);
  }
  for (auto zero = zeros_.begin(); status.ok() && zero != zeros_.end(); ++zero) {
    status = copier_->Zero(zero->from, zero->size);
  }
  const bool queued = !pieces_.empty() || !zeros_.empty();
  const Status finished = queued ? copier_->Finish() : OkStatus();
  return status.ok() ? finished : status;
}

// Pieces are few and large, and this is for a reader who is about to wait for a copy anyway.
void SavedBytes::Read(const Interval& interval, char* to) const {
  std::memset(to, 0, static_cast<size_t>(interval.size.count()));
  for (const Piece& piece : pieces_) {
    const Address from = std::max(interval.from, piece.home.from);
    const Address end = std::min(interval.end(), piece.home.end());
    if (end <= from) continue;
    std::memcpy(to + (from - interval.from).count(), piece.host + (from - piece.home.from).count(),
                static_cast<size_t>((end - from).count()));
  }
  for (const Interval& zero : zeros_) {
    const Address from = std::max(interval.from, zero.from);
    const Address end = std::min(interval.end(), zero.end());
    if (from < end) std::memset(to + (from - interval.from).count(), 0, static_cast<size_t>((end - from).count()));
  }
}

void SavedBytes::Forget() {
  pieces_.clear();
  zeros_.clear();
  bytes_ = Bytes(0);
}

}  // namespace gmlake
