#include "cc/driver/model_driver.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace gmlake {
namespace {

uint64_t Key(EventHandle event) { return reinterpret_cast<uint64_t>(event.value); }

}  // namespace

// One call through the interface: holds the lock and counts the time, that for the lock included.
class ModelDriver::Call {
 public:
  explicit Call(ModelDriver* driver) : start_(Clock::now()), lock_(&driver->mutex_), driver_(driver) {}
  ~Call() { driver_->time_inside_ += Clock::now() - start_; }

 private:
  using Clock = std::chrono::steady_clock;
  const Clock::time_point start_;
  const MutexLock lock_;
  ModelDriver* const driver_;
};

Status ModelDriver::Misuse(const char* what) {
  if (num_misuses_++ == 0) first_misuse_ = what;
  return Status(StatusCode::kInvalidArgument, what);
}

// --- physical blocks

StatusOr<BlockHandle> ModelDriver::Create(Bytes size) {
  const Call call(this);
  if (!IsMultiple(size)) return Misuse("create: size is no multiple of the granularity");
  ++calls_.create;
  calls_.time_us += CostPerBlock(DriverCall::kCreate, size);
  if (in_use_ + size > total_) return Status(StatusCode::kOutOfMemory, "the modelled device has no memory left");
  in_use_ += size;
  peak_ = std::max(peak_, in_use_);
  blocks_[next_block_].size = size;
  return BlockHandle{next_block_++};
}

Status ModelDriver::Release(BlockHandle handle) {
  const Call call(this);
  const auto block = blocks_.find(handle.value);
  if (block == blocks_.end() || block->second.released) return Misuse("release: no such block");
  ++calls_.release;
  calls_.time_us += CostPerBlock(DriverCall::kRelease, block->second.size);
  block->second.released = true;
  ReturnIfUnused(block);
  return OkStatus();
}

void ModelDriver::ReturnIfUnused(std::unordered_map<uint64_t, Block>::iterator block) {
  if (!block->second.released || block->second.num_mappings > 0) return;
  in_use_ -= block->second.size;
  blocks_.erase(block);
}

// --- addresses

StatusOr<Address> ModelDriver::Reserve(Bytes size) {
  const Call call(this);
  if (!IsMultiple(size)) return Misuse("reserve: size is no multiple of the granularity");
  ++calls_.reserve;
  calls_.time_us += ReserveCost(static_cast<int64_t>(reservations_.size()));
  const Address address = next_address_;
  next_address_ = address + size + granularity();  // a gap, so that running over the end is seen
  reservations_.emplace(address, size);
  return address;
}

Status ModelDriver::FreeAddress(Address address, Bytes size) {
  const Call call(this);
  const auto reservation = reservations_.find(address);
  if (reservation == reservations_.end() || reservation->second != size) {
    return Misuse("free address: not a reservation");
  }
  if (Overlaps(address, size)) return Misuse("free address: something is mapped there");
  ++calls_.free_address;
  calls_.time_us += kFreeAddressCost;
  reservations_.erase(reservation);
  return OkStatus();
}

bool ModelDriver::IsReserved(Address address, Bytes size) const {
  const auto after = reservations_.upper_bound(address);
  if (after == reservations_.begin()) return false;
  const auto& [start, length] = *std::prev(after);
  return address + size <= start + length;
}

// --- mappings

bool ModelDriver::Overlaps(Address address, Bytes size) const {
  const auto next = mappings_.lower_bound(address);
  if (next != mappings_.end() && next->first < address + size) return true;
  if (next == mappings_.begin()) return false;
  const auto& [start, mapping] = *std::prev(next);
  return start + mapping.size > address;
}

bool ModelDriver::IsCovered(Address address, Bytes size) const {
  const Address end = address + size;
  for (auto it = mappings_.find(address); it != mappings_.end() && it->first == address; ++it) {
    address = address + it->second.size;
    if (address == end) return true;
  }
  return false;
}

Status ModelDriver::Map(Address address, Bytes size, BlockHandle handle) {
  const Call call(this);
  const auto block = blocks_.find(handle.value);
  if (block == blocks_.end() || block->second.released) return Misuse("map: no such block");
  if (block->second.size != size) return Misuse("map: a block is mapped whole or not at all");
  if (!IsReserved(address, size)) return Misuse("map: addresses are not reserved");
  if ((address - Address()) % granularity() != Bytes(0)) return Misuse("map: address is not aligned");
  if (Overlaps(address, size)) return Misuse("map: something is mapped there");
  ++calls_.map;
  calls_.time_us += CostPerBlock(DriverCall::kMap, size);
  ++block->second.num_mappings;
  mappings_.emplace(address, Mapping{size, handle.value});
  return OkStatus();
}

Status ModelDriver::SetAccess(Address address, Bytes size) {
  const Call call(this);
  if (!IsCovered(address, size)) return Misuse("set access: not a run of whole mappings");
  ++calls_.set_access;
  for (auto it = mappings_.find(address); it != mappings_.end() && it->first < address + size; ++it) {
    calls_.time_us += CostPerBlock(DriverCall::kSetAccess, it->second.size);
    it->second.accessible = true;
  }
  return OkStatus();
}

Status ModelDriver::Unmap(Address address, Bytes size) {
  const Call call(this);
  if (!IsCovered(address, size)) return Misuse("unmap: not a run of whole mappings");
  ++calls_.unmap;
  const auto first = mappings_.find(address);
  const auto last = mappings_.lower_bound(address + size);
  for (auto it = first; it != last; ++it) {
    calls_.time_us += CostPerBlock(DriverCall::kUnmap, it->second.size);
    const auto block = blocks_.find(it->second.block);
    --block->second.num_mappings;
    ReturnIfUnused(block);
  }
  mappings_.erase(first, last);
  return OkStatus();
}

std::vector<ModelDriver::Extent> ModelDriver::Resolve(Address address, Bytes size) const {
  const MutexLock lock(&mutex_);
  std::vector<Extent> extents;
  auto it = mappings_.upper_bound(address);
  if (it == mappings_.begin()) return {};
  --it;
  while (size > Bytes(0)) {
    if (it == mappings_.end() || !it->second.accessible || it->first > address) return {};
    const Bytes offset = address - it->first;
    if (offset >= it->second.size) return {};
    const Bytes part = std::min(size, it->second.size - offset);
    extents.push_back({it->second.block, offset, part});
    address = address + part;
    size -= part;
    ++it;
  }
  return extents;
}

// --- streams, which complete at once

StatusOr<EventHandle> ModelDriver::RecordEvent(StreamHandle) {
  const Call call(this);
  ++calls_.record_event;
  calls_.time_us += kEventCost;
  events_.insert(next_event_);
  return EventHandle{reinterpret_cast<void*>(next_event_++)};
}

Status ModelDriver::CheckEvent(EventHandle event) {
  calls_.time_us += kEventCost;
  return events_.count(Key(event)) != 0 ? OkStatus() : Misuse("event: never recorded, or destroyed");
}

StatusOr<bool> ModelDriver::IsComplete(EventHandle event) {
  const Call call(this);
  GMLAKE_RETURN_IF_ERROR(CheckEvent(event));
  return true;
}

Status ModelDriver::WaitOnHost(EventHandle event) {
  const Call call(this);
  return CheckEvent(event);
}

Status ModelDriver::WaitOnStream(StreamHandle, EventHandle event) {
  const Call call(this);
  return CheckEvent(event);
}

void ModelDriver::DestroyEvent(EventHandle event) {
  const Call call(this);
  CheckEvent(event).IgnoreError();  // there is no one to tell; it is counted
  events_.erase(Key(event));
}

// --- what is known of it all

StatusOr<DeviceMemory> ModelDriver::QueryMemory() {
  const Call call(this);
  calls_.time_us += kEventCost;
  return DeviceMemory{total_ - in_use_, total_};
}

DriverCallStats ModelDriver::calls() const {
  const MutexLock lock(&mutex_);
  return calls_;
}

Bytes ModelDriver::memory_in_use() const {
  const MutexLock lock(&mutex_);
  return in_use_;
}

Bytes ModelDriver::peak_memory_in_use() const {
  const MutexLock lock(&mutex_);
  return peak_;
}

std::chrono::nanoseconds ModelDriver::time_inside() const {
  const MutexLock lock(&mutex_);
  return time_inside_;
}

int64_t ModelDriver::num_misuses() const {
  const MutexLock lock(&mutex_);
  return num_misuses_;
}

std::string ModelDriver::first_misuse() const {
  const MutexLock lock(&mutex_);
  return first_misuse_;
}

}  // namespace gmlake
