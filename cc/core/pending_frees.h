// Leases that were freed while a stream was being captured, so that their memory could not be put in order yet.
#ifndef GMLAKE_CORE_PENDING_FREES_H_
#define GMLAKE_CORE_PENDING_FREES_H_

#include <cstdint>
#include <vector>

#include "cc/base/bytes.h"
#include "cc/base/status.h"
#include "cc/core/mapping/stream_order.h"
#include "cc/core/ranges/memory.h"
#include "cc/core/small_pool.h"
#include "cc/core/tables/chunk.h"
#include "cc/driver/driver.h"

namespace gmlake {

// Makes the memory of a lease free, in the small pool or in the large space.
inline void GiveLease(ChunkId lease, Memory* memory, SmallPool* small) {
  if (memory->chunks[lease].small) return small->Give(lease);
  memory->Give(lease);
}

// Model: a list of freed leases, each with the stream that may still use it. Invariant: their bytes are in use in the
// tables until the stream's work is in order before that of the owner stream. Thread rule: the allocator's lock. Cost:
// Retry asks for an event of each entry.
class PendingFrees {
 public:
  PendingFrees(Memory* memory, SmallPool* small, StreamOrder* order) : memory_(memory), small_(small), order_(order) {}

  void Add(ChunkId lease, StreamHandle stream);
  // Frees whatever can be put in order now.
  void Retry();
  // To be called before `stream` is destroyed. Keeps an event behind its work. Fails where the stream is being
  // captured: then only a wait for the device tells when its work is over.
  Status KeepEndOf(StreamHandle stream);

  bool empty() const { return entries_.empty(); }
  Bytes bytes() const { return bytes_; }
  template <typename Visit>
  void ForEach(Visit visit) const {
    for (const Entry& entry : entries_) visit(entry.lease);
  }

 private:
  struct Entry {
    ChunkId lease;
    StreamHandle stream;
    StreamEnd end = nullptr;  // once the stream is gone: the end of its work,
    int64_t debt = 0;         // ... or the debt that must be settled

    bool is_stream_gone() const { return end != nullptr || debt > 0; }
  };

  bool Settle(const Entry& entry);
  Status Order(const Entry& entry);

  Memory* memory_;
  SmallPool* small_;
  StreamOrder* order_;
  std::vector<Entry> entries_;
  Bytes bytes_;  // of all entries, as placed
};

}  // namespace gmlake

#endif  // GMLAKE_CORE_PENDING_FREES_H_
