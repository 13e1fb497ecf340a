// A driver for tests: strict about CUDA's rules, scripted about errors, and aware of time.
//
// It keeps what a device would keep (blocks, reservations, mappings, streams) and writes down every broken rule, above
// all an unmap or release under work that has not finished. Any call can be told to fail. Time stands still: a stream's
// work finishes only when somebody waits for it, or the test says so; that is the worst case for who waits too little.
#ifndef GMLAKE_DRIVER_FAKE_DRIVER_H_
#define GMLAKE_DRIVER_FAKE_DRIVER_H_

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "cc/base/mutex.h"
#include "cc/driver/driver.h"

namespace gmlake {

// Model: streams count the work queued on them; an event is a place in that count; a wait between streams is an edge.
// Invariant: violations() is empty as long as the caller keeps the rules. Thread rule: any thread, one lock.
// Cost: logarithmic in what exists; for tests.
class FakeDriver : public Driver {
 public:
  explicit FakeDriver(Bytes device_memory) : total_(device_memory) {}

  // Script.
  // The calls numbered [first, first + count) from now on (0 is the next) fail with `code`.
  void FailCalls(int64_t first, int64_t count, StatusCode code);
  // Of the calls with this name ("create", "map", "set access", "unmap", "release", "reserve", "free address",
  // "record", "query event", "wait on host", "wait on device", "wait on stream", "query capture"), `count` fail after
  // `skip` that do not.
  void FailNamed(const std::string& name, int64_t skip, int64_t count, StatusCode code);
  void StopFailing();
  // Called at the start of every Create, WaitOnHost or WaitOnDevice, without a lock: a place to hold a thread, or to do
  // in the middle of a wait what another thread or a callback of the device might do.
  void OnCreate(std::function<void()> action) { on_create_ = std::move(action); }
  void OnWait(std::function<void()> action) { on_wait_ = std::move(action); }
  // The host framework destroys the stream. Its queued work still runs, but nobody may name it any more. A capture of
  // it ends.
  void DestroyStream(StreamHandle stream);
  void SetCapturing(StreamHandle stream, bool capturing);
  // Memory of the device that another process takes.
  void SetForeignMemory(Bytes bytes);
  // The device has only so many addresses for reservations; as many as it likes, if not called.
  void SetAddresses(Bytes addresses);
  // From now on names are given again as soon as they are free, the lowest first: handles, events, and addresses, with
  // no gap between reservations. What is kept by a name that is gone then meets another that bears it.
  void ReuseNames() { reuse_names_ = true; }
  // Queues work on `stream` that touches [address, address + size); all of it must be accessible. Work of different
  // owners on the same physical bytes must be in order: a violation if nothing makes this work wait for the other.
  void Launch(StreamHandle stream, Address address, Bytes size, int64_t owner = 0);
  // `later` waits for all that is queued on `earlier`, as the host framework sees to it. Never fails, is not counted.
  void Order(StreamHandle later, StreamHandle earlier);
  // The oldest `count` pieces of queued work on `stream` finish, and everything that they waited for.
  void FinishSome(StreamHandle stream, int64_t count);
  // All queued work finishes.
  void FinishAll();

  // What exists now.
  int64_t num_calls() const;   // since the start, those that can be made to fail
  int64_t num_failed() const;  // of these, those that the script made fail
  int64_t num_failed_unmaps() const;
  int64_t num_mapping_changes() const;  // maps and unmaps that happened
  int64_t num_blocks() const;           // handles not yet released
  int64_t num_mappings() const;
  int64_t num_reservations() const;
  Bytes reserved_addresses() const;
  int64_t num_events() const;  // recorded and not destroyed
  Bytes memory_in_use() const;
  std::vector<std::string> violations() const;
  // The physical bytes under [address, address + size): pairs of block and offset, one per granule or part of one.
  struct Extent {
    uint64_t block;  // a number that no other block ever has
    Bytes offset;
    Bytes size;
  };
  std::vector<Extent> Resolve(Address address, Bytes size) const;

  Bytes granularity() const override { return MiB(2); }
  StatusOr<BlockHandle> Create(Bytes size) override;
  Status Release(BlockHandle block) override;
  StatusOr<Address> Reserve(Bytes size) override;
  Status FreeAddress(Address address, Bytes size) override;
  Status Map(Address address, Bytes size, BlockHandle block) override;
  Status SetAccess(Address address, Bytes size) override;
  Status Unmap(Address address, Bytes size) override;
  StatusOr<EventHandle> RecordEvent(StreamHandle stream) override;
  StatusOr<bool> IsComplete(EventHandle event) override;
  Status WaitOnHost(EventHandle event) override;
  Status WaitOnDevice() override;
  Status WaitOnStream(StreamHandle stream, EventHandle event) override;
  void DestroyEvent(EventHandle event) override;
  StatusOr<bool> IsCapturing(StreamHandle stream) override;
  StatusOr<DeviceMemory> QueryMemory() override;

 private:
  struct Block {
    Bytes size;
    uint64_t number = 0;
    int mappings = 0;
    bool released = false;
  };
  struct Mapping {
    Bytes size;
    uint64_t block;
    bool accessible = false;
  };
  struct Work {
    int64_t number;
    Address address;
    Bytes size;
    int64_t owner;
    std::vector<Extent> extents;
  };
  // How far each other stream's work is known to be over before this point.
  using Clock = std::map<void*, int64_t>;
  struct Wait {
    int64_t number;  // work after this number of the waiting stream comes after ...
    void* stream;    // ... this stream's
    int64_t until;   // work up to here
  };
  struct Stream {
    int64_t queued = 0;
    int64_t finished = 0;
    bool capturing = false;
    bool destroyed = false;
    std::vector<Work> work;
    std::vector<Wait> waits;
    Clock clock;
  };
  struct Point {
    void* stream;
    int64_t number;
    Clock clock;
  };
  using Mappings = std::map<Address, Mapping>;

  // Counts the call; an error if the script says so.
  Status Enter(const char* name);
  StatusCode ScriptFor(const char* name, int64_t call);
  Status Violate(const std::string& what);
  Status CheckStream(StreamHandle stream);
  Point Now(void* stream);
  void Await(void* stream, const Point& point);
  void Finish(void* stream, int64_t number);
  void FinishEverything();
  std::vector<Extent> ExtentsOf(Address address, Bytes size) const;
  bool IsOrdered(void* stream, const Work& work) const;
  static int64_t KnownOf(const Stream& stream, void* other);
  static bool SharesBytes(const Work& a, const Work& b);
  bool InUse(Address address, Bytes size) const;
  bool Reserved(Address address, Bytes size) const;
  bool AnyMapped(Address address, Bytes size) const;
  // The mappings that tile [address, address + size) exactly; empty if they do not.
  std::vector<Mappings::iterator> Tiles(Address address, Bytes size);
  void Drop(uint64_t block);
  Bytes Used() const;
  uint64_t NewHandle();
  void* NewEvent();
  Address NewAddress(Bytes size);

  std::function<void()> on_create_;
  std::function<void()> on_wait_;
  mutable Mutex mutex_;
  const Bytes total_;
  Bytes foreign_;
  Bytes addresses_{INT64_MAX};
  Bytes reserved_;  // of reservations
  int64_t calls_ = 0;
  int64_t failed_ = 0;
  int64_t failed_unmaps_ = 0;
  int64_t mapping_changes_ = 0;
  int64_t fail_first_ = 0;
  int64_t fail_end_ = 0;
  StatusCode fail_code_ = StatusCode::kOk;
  struct Named {
    std::string name;
    int64_t skip = 0;
    int64_t count = 0;
    StatusCode code = StatusCode::kOk;
  };
  Named named_;
  bool reuse_names_ = false;
  uint64_t next_block_ = 1;
  uint64_t next_event_ = 1;
  Address next_address_{uint64_t{1} << 40};
  std::map<uint64_t, Block> blocks_;
  std::map<Address, Bytes> reservations_;
  Mappings mappings_;
  std::map<void*, Stream> streams_;
  std::map<void*, Point> events_;
  std::vector<std::string> violations_;
};

}  // namespace gmlake

#endif  // GMLAKE_DRIVER_FAKE_DRIVER_H_
