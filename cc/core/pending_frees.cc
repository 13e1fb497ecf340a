#include "cc/core/pending_frees.h"

#include <algorithm>

#include "cc/core/request_rules.h"

namespace gmlake {

void PendingFrees::Add(ChunkId lease, StreamHandle stream) {
  bytes_ += PlacedSize(*memory_, lease);
  entries_.push_back({lease, stream});
}

void PendingFrees::Retry() {
  const auto settled = [this](const Entry& entry) { return Settle(entry); };
  entries_.erase(std::remove_if(entries_.begin(), entries_.end(), settled), entries_.end());
}

bool PendingFrees::Settle(const Entry& entry) {
  if (!Order(entry).ok()) return false;
  bytes_ -= PlacedSize(*memory_, entry.lease);
  GiveLease(entry.lease, memory_, small_);
  return true;
}

Status PendingFrees::Order(const Entry& entry) {
  if (entry.end != nullptr) return order_->ReleaseAfter(entry.end);
  if (entry.debt == 0) return order_->Release(entry.stream);
  return order_->IsSettled(entry.debt) ? OkStatus()
                                       : Status(StatusCode::kNotReady, "the device was not waited for yet");
}

Status PendingFrees::KeepEndOf(StreamHandle stream) {
  Status kept;
  for (Entry& entry : entries_) {
    if (entry.is_stream_gone() || entry.stream != stream) continue;  // a new stream may have the handle of an old one
    const StatusOr<StreamEnd> end = order_->EndOf(stream);
    if (end.ok()) {
      entry.end = *end;
    } else {
      entry.debt = order_->AddDebt();
      kept = end.status();
    }
  }
  return kept;
}

}  // namespace gmlake
