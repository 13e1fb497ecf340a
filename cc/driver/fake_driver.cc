#include "cc/driver/fake_driver.h"

#include <algorithm>
#include <utility>

namespace gmlake {
namespace {

bool Overlap(Address a, Bytes a_size, Address b, Bytes b_size) { return a < b + b_size && b < a + a_size; }

}  // namespace

void FakeDriver::FailCalls(int64_t first, int64_t count, StatusCode code) {
  const MutexLock lock(&mutex_);
  fail_first_ = calls_ + first;
  fail_end_ = fail_first_ + count;
  fail_code_ = code;
}

void FakeDriver::FailNamed(const std::string& name, int64_t skip, int64_t count, StatusCode code) {
  const MutexLock lock(&mutex_);
  named_ = {name, skip, count, code};
}

void FakeDriver::StopFailing() {
  const MutexLock lock(&mutex_);
  fail_end_ = 0;
  named_ = Named();
}

void FakeDriver::SetCapturing(StreamHandle stream, bool capturing) {
  const MutexLock lock(&mutex_);
  streams_[stream.value].capturing = capturing;
}

void FakeDriver::SetForeignMemory(Bytes bytes) {
  const MutexLock lock(&mutex_);
  foreign_ = bytes;
}

void FakeDriver::SetAddresses(Bytes addresses) {
  const MutexLock lock(&mutex_);
  addresses_ = addresses;
}

void FakeDriver::DestroyStream(StreamHandle stream) {
  const MutexLock lock(&mutex_);
  streams_[stream.value].destroyed = true;
  streams_[stream.value].capturing = false;
}

void FakeDriver::Launch(StreamHandle stream, Address address, Bytes size, int64_t owner) {
  const MutexLock lock(&mutex_);
  Work work{0, address, size, owner, ExtentsOf(address, size)};
  if (work.extents.empty()) return void(Violate("work touches an address that is not mapped and accessible"));
  if (!IsOrdered(stream.value, work)) Violate("work of two owners on the same memory is not in order").IgnoreError();
  Stream& queue = streams_[stream.value];
  work.number = ++queue.queued;
  queue.work.push_back(std::move(work));
}

void FakeDriver::Order(StreamHandle later, StreamHandle earlier) {
  const MutexLock lock(&mutex_);
  Await(later.value, Now(earlier.value));
}

void FakeDriver::FinishSome(StreamHandle stream, int64_t count) {
  const MutexLock lock(&mutex_);
  const Stream& queue = streams_[stream.value];
  Finish(stream.value, std::min(queue.queued, queue.finished + count));
}

void FakeDriver::FinishAll() {
  const MutexLock lock(&mutex_);
  FinishEverything();
}

void FakeDriver::FinishEverything() {
  for (auto& [handle, stream] : streams_) {
    stream.finished = stream.queued;
    stream.work.clear();
    stream.waits.clear();
  }
}

int64_t FakeDriver::num_calls() const {
  const MutexLock lock(&mutex_);
  return calls_;
}

int64_t FakeDriver::num_failed() const {
  const MutexLock lock(&mutex_);
  return failed_;
}

int64_t FakeDriver::num_failed_unmaps() const {
  const MutexLock lock(&mutex_);
  return failed_unmaps_;
}

int64_t FakeDriver::num_mapping_changes() const {
  const MutexLock lock(&mutex_);
  return mapping_changes_;
}

int64_t FakeDriver::num_blocks() const {
  const MutexLock lock(&mutex_);
  return std::count_if(blocks_.begin(), blocks_.end(), [](const auto& entry) { return !entry.second.released; });
}

int64_t FakeDriver::num_mappings() const {
  const MutexLock lock(&mutex_);
  return static_cast<int64_t>(mappings_.size());
}

int64_t FakeDriver::num_reservations() const {
  const MutexLock lock(&mutex_);
  return static_cast<int64_t>(reservations_.size());
}

Bytes FakeDriver::reserved_addresses() const {
  const MutexLock lock(&mutex_);
  return reserved_;
}

int64_t FakeDriver::num_events() const {
  const MutexLock lock(&mutex_);
  return static_cast<int64_t>(events_.size());
}

Bytes FakeDriver::memory_in_use() const {
  const MutexLock lock(&mutex_);
  return Used();
}

std::vector<std::string> FakeDriver::violations() const {
  const MutexLock lock(&mutex_);
  return violations_;
}

std::vector<FakeDriver::Extent> FakeDriver::Resolve(Address address, Bytes size) const {
  const MutexLock lock(&mutex_);
  return ExtentsOf(address, size);
}

StatusOr<BlockHandle> FakeDriver::Create(Bytes size) {
  if (on_create_) on_create_();
  const MutexLock lock(&mutex_);
  GMLAKE_RETURN_IF_ERROR(Enter("create"));
  if (size <= Bytes(0) || size % granularity() != Bytes(0))
    return Violate("create of a size that is no multiple of the granularity");
  if (Used() + foreign_ + size > total_) return Status(StatusCode::kOutOfMemory, "the device is full");
  const uint64_t handle = NewHandle();
  blocks_[handle] = {size, next_block_++};
  return BlockHandle{handle};
}

Status FakeDriver::Release(BlockHandle block) {
  const MutexLock lock(&mutex_);
  GMLAKE_RETURN_IF_ERROR(Enter("release"));
  const auto found = blocks_.find(block.value);
  if (found == blocks_.end() || found->second.released) return Violate("release of a block that is not held");
  found->second.released = true;
  Drop(block.value);
  return OkStatus();
}

StatusOr<Address> FakeDriver::Reserve(Bytes size) {
  const MutexLock lock(&mutex_);
  GMLAKE_RETURN_IF_ERROR(Enter("reserve"));
  if (size <= Bytes(0) || size % granularity() != Bytes(0))
    return Violate("reserve of a size that is no multiple of the granularity");
  if (addresses_ - reserved_ < size) return Status(StatusCode::kOutOfMemory, "the device has no addresses left");
  const Address address = NewAddress(size);
  reservations_[address] = size;
  reserved_ += size;
  return address;
}

Status FakeDriver::FreeAddress(Address address, Bytes size) {
  const MutexLock lock(&mutex_);
  GMLAKE_RETURN_IF_ERROR(Enter("free address"));
  const auto found = reservations_.find(address);
  if (found == reservations_.end() || found->second != size)
    return Violate("addresses freed that were not reserved so");
  if (AnyMapped(address, size)) return Violate("addresses freed while something is mapped there");
  reservations_.erase(found);
  reserved_ -= size;
  return OkStatus();
}

Status FakeDriver::Map(Address address, Bytes size, BlockHandle block) {
  const MutexLock lock(&mutex_);
  GMLAKE_RETURN_IF_ERROR(Enter("map"));
  const auto found = blocks_.find(block.value);
  if (found == blocks_.end() || found->second.released) return Violate("map of a block that is not held");
  if (found->second.size != size) return Violate("map of a part of a block");
  if (!Reserved(address, size)) return Violate("map outside a reservation");
  if (AnyMapped(address, size)) return Violate("map over a mapping");
  mappings_[address] = {size, block.value};
  ++mapping_changes_;
  ++found->second.mappings;
  return OkStatus();
}

Status FakeDriver::SetAccess(Address address, Bytes size) {
  const MutexLock lock(&mutex_);
  GMLAKE_RETURN_IF_ERROR(Enter("set access"));
  const std::vector<Mappings::iterator> tiles = Tiles(address, size);
  if (tiles.empty()) return Violate("access set to something else than whole mappings");
  if (!Reserved(address, size)) return Violate("access set across two reservations");
  for (const auto& tile : tiles) tile->second.accessible = true;
  return OkStatus();
}

Status FakeDriver::Unmap(Address address, Bytes size) {
  const MutexLock lock(&mutex_);
  Status status = Enter("unmap");
  if (!status.ok()) {
    ++failed_unmaps_;
    return status;
  }
  const std::vector<Mappings::iterator> tiles = Tiles(address, size);
  if (tiles.empty()) return Violate("unmap of something else than whole mappings");
  if (!Reserved(address, size)) return Violate("unmap across two reservations");
  if (InUse(address, size)) return Violate("unmap under work that has not finished");
  for (const auto& tile : tiles) {
    const uint64_t block = tile->second.block;
    mappings_.erase(tile);
    ++mapping_changes_;
    --blocks_[block].mappings;
    Drop(block);
  }
  return OkStatus();
}

StatusOr<EventHandle> FakeDriver::RecordEvent(StreamHandle stream) {
  const MutexLock lock(&mutex_);
  Status status = Enter("record");
  if (!status.ok()) return status;
  status = CheckStream(stream);
  if (!status.ok()) return status;
  if (streams_[stream.value].capturing) return Violate("event recorded on a stream that is being captured");
  void* event = NewEvent();
  events_[event] = Now(stream.value);
  return EventHandle{event};
}

StatusOr<bool> FakeDriver::IsComplete(EventHandle event) {
  const MutexLock lock(&mutex_);
  GMLAKE_RETURN_IF_ERROR(Enter("query event"));
  const auto found = events_.find(event.value);
  if (found == events_.end()) return Violate("query of an event that was never recorded");
  return streams_[found->second.stream].finished >= found->second.number;
}

Status FakeDriver::WaitOnHost(EventHandle event) {
  if (on_wait_) on_wait_();
  const MutexLock lock(&mutex_);
  GMLAKE_RETURN_IF_ERROR(Enter("wait on host"));
  const auto found = events_.find(event.value);
  if (found == events_.end()) return Violate("wait for an event that was never recorded");
  Finish(found->second.stream, found->second.number);
  return OkStatus();
}

Status FakeDriver::WaitOnDevice() {
  if (on_wait_) on_wait_();
  const MutexLock lock(&mutex_);
  GMLAKE_RETURN_IF_ERROR(Enter("wait on device"));
  const bool captured =
      std::any_of(streams_.begin(), streams_.end(), [](const auto& entry) { return entry.second.capturing; });
  if (captured) return Status(StatusCode::kFailedPrecondition, "the device cannot be waited for during a capture");
  FinishEverything();
  return OkStatus();
}

Status FakeDriver::WaitOnStream(StreamHandle stream, EventHandle event) {
  const MutexLock lock(&mutex_);
  Status status = Enter("wait on stream");
  if (!status.ok()) return status;
  const auto found = events_.find(event.value);
  if (found == events_.end()) return Violate("wait for an event that was never recorded");
  status = CheckStream(stream);
  if (!status.ok()) return status;
  if (streams_[stream.value].capturing) return Violate("wait put on a stream that is being captured");
  Await(stream.value, found->second);
  return OkStatus();
}

void FakeDriver::DestroyEvent(EventHandle event) {
  const MutexLock lock(&mutex_);
  if (events_.erase(event.value) == 0) Violate("an event destroyed twice").IgnoreError();
}

StatusOr<bool> FakeDriver::IsCapturing(StreamHandle stream) {
  const MutexLock lock(&mutex_);
  Status status = Enter("query capture");
  if (!status.ok()) return status;
  status = CheckStream(stream);
  if (!status.ok()) return status;
  return streams_[stream.value].capturing;
}

StatusOr<DeviceMemory> FakeDriver::QueryMemory() {
  const MutexLock lock(&mutex_);
  GMLAKE_RETURN_IF_ERROR(Enter("query memory"));
  return DeviceMemory{total_ - Used() - foreign_, total_};
}

Status FakeDriver::Enter(const char* name) {
  const StatusCode code = ScriptFor(name, calls_++);
  if (code == StatusCode::kOk) return OkStatus();
  ++failed_;
  return Status(code, std::string("scripted failure of ") + name);
}

StatusCode FakeDriver::ScriptFor(const char* name, int64_t call) {
  if (call >= fail_first_ && call < fail_end_) return fail_code_;
  if (named_.name != name || named_.skip-- > 0 || named_.count-- <= 0) return StatusCode::kOk;
  return named_.code;
}

Status FakeDriver::Violate(const std::string& what) {
  violations_.push_back(what);
  return Status(StatusCode::kInvalidArgument, what);
}

Status FakeDriver::CheckStream(StreamHandle stream) {
  return streams_[stream.value].destroyed ? Violate("use of a stream that was destroyed") : OkStatus();
}

FakeDriver::Point FakeDriver::Now(void* stream) {
  const Stream& queue = streams_[stream];
  Point point{stream, queue.queued, queue.clock};
  point.clock[stream] = queue.queued;
  return point;
}

// The wait is an entry of the queue itself: an event recorded right after it completes only after it.
void FakeDriver::Await(void* stream, const Point& point) {
  Stream& queue = streams_[stream];
  queue.waits.push_back({++queue.queued, point.stream, point.number});
  for (const auto& [other, number] : point.clock) {
    int64_t& known = queue.clock[other];
    known = std::max(known, number);
  }
}

// Work up to `number` is done, and with it everything it had to wait for.
void FakeDriver::Finish(void* handle, int64_t number) {
  Stream& stream = streams_[handle];
  if (number <= stream.finished) return;
  stream.finished = number;
  const auto done = [&](const Work& work) { return work.number <= number; };
  stream.work.erase(std::remove_if(stream.work.begin(), stream.work.end(), done), stream.work.end());
  const auto later = std::partition_point(stream.waits.begin(), stream.waits.end(),
                                          [&](const Wait& wait) { return wait.number <= number; });
  const std::vector<Wait> met(stream.waits.begin(), later);
  stream.waits.erase(stream.waits.begin(), later);
  for (const Wait& wait : met) Finish(wait.stream, wait.until);
}

std::vector<FakeDriver::Extent> FakeDriver::ExtentsOf(Address address, Bytes size) const {
  std::vector<Extent> extents;
  for (Address at = address; at < address + size;) {
    auto mapping = mappings_.upper_bound(at);
    if (mapping == mappings_.begin()) return {};
    --mapping;
    const Address end = std::min(mapping->first + mapping->second.size, address + size);
    if (end <= at || !mapping->second.accessible) return {};
    extents.push_back({blocks_.at(mapping->second.block).number, at - mapping->first, end - at});
    at = end;
  }
  return extents;
}

// Does `work`, queued on `stream` now, come after all unfinished work of others on the same physical bytes?
bool FakeDriver::IsOrdered(void* stream, const Work& work) const {
  const auto own = streams_.find(stream);
  for (const auto& [other, queue] : streams_) {
    const int64_t known = own == streams_.end() ? 0 : KnownOf(own->second, other);
    const auto unknown = [&, other = other](const Work& earlier) {
      return other != stream && earlier.number > known && earlier.owner != work.owner && SharesBytes(earlier, work);
    };
    if (std::any_of(queue.work.begin(), queue.work.end(), unknown)) return false;
  }
  return true;
}

// The last piece of `other`'s work that `stream` has been told to wait for.
int64_t FakeDriver::KnownOf(const Stream& stream, void* other) {
  const auto known = stream.clock.find(other);
  return known == stream.clock.end() ? 0 : known->second;
}

bool FakeDriver::SharesBytes(const Work& a, const Work& b) {
  for (const Extent& x : a.extents) {
    for (const Extent& y : b.extents) {
      if (x.block == y.block && x.offset < y.offset + y.size && y.offset < x.offset + x.size) return true;
    }
  }
  return false;
}

bool FakeDriver::InUse(Address address, Bytes size) const {
  for (const auto& [handle, stream] : streams_) {
    for (const Work& work : stream.work) {
      if (Overlap(work.address, work.size, address, size)) return true;
    }
  }
  return false;
}

bool FakeDriver::Reserved(Address address, Bytes size) const {
  auto found = reservations_.upper_bound(address);
  if (found == reservations_.begin()) return false;
  --found;
  return address + size <= found->first + found->second;
}

bool FakeDriver::AnyMapped(Address address, Bytes size) const {
  const auto above = mappings_.lower_bound(address);
  if (above != mappings_.end() && above->first < address + size) return true;
  if (above == mappings_.begin()) return false;
  const auto below = std::prev(above);
  return address < below->first + below->second.size;
}

std::vector<FakeDriver::Mappings::iterator> FakeDriver::Tiles(Address address, Bytes size) {
  std::vector<Mappings::iterator> tiles;
  Address at = address;
  while (at < address + size) {
    const auto tile = mappings_.find(at);
    if (tile == mappings_.end()) return {};
    tiles.push_back(tile);
    at = at + tile->second.size;
  }
  return at == address + size ? tiles : std::vector<Mappings::iterator>();
}

// A block's memory returns to the device when nobody holds it and nothing maps it.
void FakeDriver::Drop(uint64_t block) {
  const auto found = blocks_.find(block);
  if (found->second.released && found->second.mappings == 0) blocks_.erase(found);
}

uint64_t FakeDriver::NewHandle() {
  if (!reuse_names_) return next_block_;
  uint64_t handle = 1;
  while (blocks_.count(handle) != 0) ++handle;
  return handle;
}

void* FakeDriver::NewEvent() {
  uint64_t event = reuse_names_ ? 1 : next_event_++;
  while (events_.count(reinterpret_cast<void*>(event)) != 0) ++event;
  return reinterpret_cast<void*>(event);
}

Address FakeDriver::NewAddress(Bytes size) {
  Address address = next_address_;
  if (!reuse_names_) {
    next_address_ = next_address_ + size + granularity();
    return address;
  }
  for (const auto& [from, reserved] : reservations_) {
    if (address + size <= from) break;
    address = from + reserved;
  }
  return address;
}

Bytes FakeDriver::Used() const {
  Bytes used(0);
  for (const auto& [handle, block] : blocks_) used += block.size;
  return used;
}

}  // namespace gmlake
