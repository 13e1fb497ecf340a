// What happened to a device's memory, and what there is at one instant, as rows of plain numbers.
//
// The rows are copied byte for byte into Python's tables (gmlake_jax/history/schema.py) and files, so a field is never
// moved, and a number keeps its meaning for good. A number that is unknown or does not apply is kNoNumber.
#ifndef GMLAKE_TELEMETRY_HISTORY_H_
#define GMLAKE_TELEMETRY_HISTORY_H_

#include <cstdint>
#include <string>
#include <vector>

#include "cc/telemetry/stats.h"

namespace gmlake {

inline constexpr int32_t kNoNumber = -1;

enum class EventKind : uint8_t {
  kAlloc = 0,    // a lease was handed out
  kFree = 1,     // a lease was given back
  kRefused = 2,  // a request could not be served
  kCreate = 3,   // a physical block came from the device
  kRelease = 4,  // a physical block went back to the device
  kMap = 5,      // a block was mapped at an address of a range
  kUnmap = 6,    // and unmapped
  kReserve = 7,  // a primitive range of addresses was reserved
  kStitch = 8,   // a stitched range was reserved; the maps of its blocks follow
  kDrop = 9,     // a range's addresses were given back
  kLimit = 10,   // the limit changed to `size`
  kTrim = 11,    // `size` bytes of idle memory were released on request
  kMark = 13,    // the program named this moment
};

// 0 is "no way"; the others are Way + 1.
constexpr uint8_t WayNumber(Way way) { return static_cast<uint8_t>(static_cast<int>(way) + 1); }

struct Event {
  int64_t time_ns = 0;  // since the recording started
  uint64_t address = 0;
  int64_t size = 0;       // as placed
  int64_t requested = 0;  // as asked for
  uint64_t stream = 0;
  int32_t range = kNoNumber;
  int32_t block = kNoNumber;
  int32_t annotation = kNoNumber;
  EventKind kind = EventKind::kAlloc;
  uint8_t way = 0;
  uint16_t unused = 0;
};
static_assert(sizeof(Event) == 56, "a row of schema.EVENT");

struct RangeRow {
  int32_t id = kNoNumber;
  int32_t is_stitched = 0;
  uint64_t address = 0;
  int64_t size = 0;  // of the addresses from the first byte to the last that is mapped
};
static_assert(sizeof(RangeRow) == 24, "a row of schema.RANGE");

struct BlockRow {
  int32_t id = kNoNumber;
  int32_t quarantined = 0;
  int64_t size = 0;
};
static_assert(sizeof(BlockRow) == 16, "a row of schema.BLOCK");

struct MappingRow {
  int32_t range = kNoNumber;
  int32_t block = kNoNumber;
  uint64_t address = 0;
};
static_assert(sizeof(MappingRow) == 16, "a row of schema.MAPPING");

enum class LeaseState : uint8_t { kLive = 0, kPending = 1 };

struct LeaseRow {
  uint64_t address = 0;
  int64_t size = 0;
  int64_t requested = 0;
  uint64_t stream = 0;
  int64_t time_ns = kNoNumber;  // when it was handed out, by MonotonicNs()
  int32_t range = kNoNumber;
  int32_t annotation = kNoNumber;
  LeaseState state = LeaseState::kLive;
  uint8_t way = 0;
  uint16_t unused = 0;
  int32_t unused2 = 0;
};
static_assert(sizeof(LeaseRow) == 56, "a row of schema.LEASE");

// Everything that one device holds, at one instant.
struct Snapshot {
  AllocatorStats stats;
  int64_t time_ns = 0;  // MonotonicNs()
  std::vector<RangeRow> ranges;
  std::vector<BlockRow> blocks;
  std::vector<MappingRow> mappings;
  std::vector<LeaseRow> leases;
};

// The last events of a recording, oldest first.
struct Recording {
  std::vector<Event> events;
  int64_t dropped = 0;   // older events that are gone
  int64_t start_ns = 0;  // MonotonicNs() at time_ns 0; 0: nothing is being recorded
};

// A clock that never goes back (CLOCK_MONOTONIC), in nanoseconds; and the same clock to some milliseconds, for a tenth
// of the cost.
int64_t MonotonicNs();
int64_t CoarseMonotonicNs();
// Nanoseconds since 1970 at which MonotonicNs() was 0.
int64_t UnixNsOfMonotonicZero();

}  // namespace gmlake

#endif  // GMLAKE_TELEMETRY_HISTORY_H_
