// Puts a device to sleep and wakes it: the order of the steps, and what is left when one fails.
//
// - Sleep copies out, unmaps and releases. After a failure before the last release it maps again: the device is as it
//   was.
// - Wake creates, maps and copies back. After a failure it unmaps and releases again: the device sleeps on.
//
// The bytes on the host are forgotten only when the device is awake and has them all.
#ifndef GMLAKE_CORE_SLEEP_SLEEPER_H_
#define GMLAKE_CORE_SLEEP_SLEEPER_H_

#include <optional>
#include <unordered_set>
#include <vector>

#include "cc/base/bytes.h"
#include "cc/base/mutex.h"
#include "cc/base/status.h"
#include "cc/core/ranges/memory.h"
#include "cc/core/sleep/mapping_switch.h"
#include "cc/core/sleep/saved_bytes.h"
#include "cc/driver/driver.h"
#include "cc/driver/host_copier.h"

namespace gmlake {

// What a sleep or a wake has done.
struct SleepReport {
  Bytes copied;   // to or from the host
  Bytes dropped;  // not copied; zero after waking
  Bytes given;    // physical memory given back, or taken again
  double copy_seconds = 0;
  double total_seconds = 0;
};

// Model: awake, moving or asleep. While it is not awake, no request is served and nothing is mapped or unmapped by
// others; leases may end. Thread rule: the allocator's lock, which Sleep and Wake let go of while they copy; meanwhile
// the state is `moving`, and nobody but Free changes the tables. Cost: the copies, and the driver's for each block and
// mapping.
class Sleeper {
 public:
  // `copier` may be null: then the device cannot sleep.
  Sleeper(Driver* driver, Memory* memory, HostCopier* copier)
      : driver_(driver), memory_(memory), switch_(driver, memory), saved_(copier) {}

  bool awake() const { return state_ == State::kAwake; }
  bool asleep() const { return state_ == State::kAsleep; }

  // The device must be idle, and everything but what is leased released. `dropped`: first chunks of leases whose
  // contents nobody wants.
  StatusOr<SleepReport> Sleep(const std::unordered_set<ChunkId>& dropped, Mutex* mutex) GMLAKE_REQUIRES(mutex);
  StatusOr<SleepReport> Wake(Bytes limit, Mutex* mutex) GMLAKE_REQUIRES(mutex);

  // The first `size` bytes of a lease of the sleeping device, as they are on the host.
  void Read(ChunkId lease, Bytes size, char* to) const;

  // Of the mappings that the tables know, those that are not there.
  Bytes unmapped() const { return asleep() ? switch_.mapped_bytes() : Bytes(0); }
  Bytes on_host() const { return saved_.store().bytes(); }
  // Host memory for `size` bytes from here on, or soon; without a size, for what is leased now. The device must be
  // awake.
  Status Prepare(std::optional<Bytes> size);
  StatusOr<Bytes> unprepared() { return saved_.store().missing(); }
  // Gives the host's memory back unless it is needed.
  void ReleaseStore();

 private:
  enum class State { kAwake, kMoving, kAsleep };
  struct Contents {
    std::vector<Interval> kept;
    std::vector<Interval> dropped;
  };

  Contents ContentsOf(const std::unordered_set<ChunkId>& dropped) const;
  Status StayAwake(const Status& why);
  Status Undo(const Status& why);
  Status CheckRoom(Bytes limit) const;
  void ForgetFreeBlocks();
  bool IsForgettable(BlockId id) const;
  bool IsForgettable(const StitchedRange& range) const;
  bool HasMemory(BlockId id) const;
  void ForgetBlock(BlockId id);

  Driver* driver_;
  Memory* memory_;
  MappingSwitch switch_;
  SavedBytes saved_;
  State state_ = State::kAwake;
};

}  // namespace gmlake

#endif  // GMLAKE_CORE_SLEEP_SLEEPER_H_
