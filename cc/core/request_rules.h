// Which requests can be served at all, and how their sizes are rounded.
#ifndef GMLAKE_CORE_REQUEST_RULES_H_
#define GMLAKE_CORE_REQUEST_RULES_H_

#include <algorithm>

#include "cc/base/bytes.h"
#include "cc/base/status.h"
#include "cc/core/ranges/memory.h"
#include "cc/core/tables/chunk.h"

namespace gmlake {

inline constexpr Bytes kMostBytes(int64_t{1} << 46);
inline constexpr Bytes kAlignment(256);  // XLA expects this of device memory

// True for a size with which sums may overflow. A negative size was too large for a signed number.
inline bool IsAbsurd(Bytes size) { return size < Bytes(0) || kMostBytes < size; }

// The bytes that a lease takes.
inline Bytes RoundUp(Bytes requested) { return AlignUp(std::max(requested, Bytes(1)), kAlignment); }

// The same for a lease, by its first chunk.
inline Bytes PlacedSize(const Memory& memory, ChunkId lease) { return RoundUp(memory.chunks[lease].requested); }

inline Status AsleepError() {
  return Status(StatusCode::kFailedPrecondition, "the device is asleep; call gmlake_jax.wake() first");
}

}  // namespace gmlake

#endif  // GMLAKE_CORE_REQUEST_RULES_H_
