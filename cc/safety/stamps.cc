#include "cc/safety/stamps.h"

#include <cstdlib>
#include <cstring>
#include <utility>

namespace gmlake {

bool Stamps::IsAt(Address address, uint64_t stamp) const {
  const auto found = device_.find(PlaceOf(address));
  return found != device_.end() && found->second == stamp;
}

StatusOr<char*> Stamps::AllocateHost(Bytes size) {
  return static_cast<char*>(std::malloc(static_cast<size_t>(size.count())));
}

void Stamps::FreeHost(char* memory, Bytes) { std::free(memory); }

Status Stamps::ToHost(char* to, Address from, Bytes size) {
  return Queue([this, to, from, size] { CopyToHost(to, from, size); });
}

Status Stamps::ToDevice(Address to, const char* from, Bytes size) {
  return Queue([this, to, from, size] { CopyToDevice(to, from, size); });
}

Status Stamps::Zero(Address to, Bytes size) {
  return Queue([this, to, size] { Erase(to, size); });
}

Status Stamps::Queue(std::function<void()> copy) {
  const Status entered = Enter();
  if (entered.ok()) queue_.push_back(std::move(copy));
  return entered;
}

// What was queued happens, even if somebody who waits for it is told of an error.
Status Stamps::Finish() {
  for (const std::function<void()>& copy : queue_) copy();
  queue_.clear();
  return Enter();
}

void Stamps::CopyToHost(char* to, Address from, Bytes size) {
  host_.erase(host_.lower_bound(to), host_.lower_bound(to + size.count()));
  ForEachExtent(from, size, [&](const FakeDriver::Extent& extent, Bytes done) {
    const auto end = device_.lower_bound({extent.block, (extent.offset + extent.size).count()});
    for (auto at = device_.lower_bound({extent.block, extent.offset.count()}); at != end; ++at) {
      char* const place = to + done.count() + (at->first.second - extent.offset.count());
      host_[place] = at->second;
      std::memcpy(place, &at->second, sizeof(at->second));  // for those who read it there
    }
  });
}

void Stamps::CopyToDevice(Address to, const char* from, Bytes size) {
  Erase(to, size);
  const auto end = host_.lower_bound(from + size.count());
  for (auto at = host_.lower_bound(from); at != end; ++at) Put(to + Bytes(at->first - from), at->second);
}

void Stamps::Erase(Address to, Bytes size) {
  ForEachExtent(to, size, [&](const FakeDriver::Extent& extent, Bytes) {
    device_.erase(device_.lower_bound({extent.block, extent.offset.count()}),
                  device_.lower_bound({extent.block, (extent.offset + extent.size).count()}));
  });
}

Status Stamps::AwaitDevice() {
  driver_->FinishAll();
  return Enter();
}

Status Stamps::Enter() {
  if (on_copy_) on_copy_();
  if (fail_in_ < 0 || fail_in_-- > 0) return OkStatus();
  return Status(StatusCode::kDriverError, "scripted failure of a copy");
}

// Nothing mapped: a place where no stamp ever is.
Stamps::Place Stamps::PlaceOf(Address address) const {
  const std::vector<FakeDriver::Extent> extents = driver_->Resolve(address, Bytes(1));
  return extents.empty() ? Place{0, -1} : Place{extents[0].block, extents[0].offset.count()};
}

template <typename Visit>
void Stamps::ForEachExtent(Address address, Bytes size, Visit visit) const {
  Bytes done(0);
  for (const FakeDriver::Extent& extent : driver_->Resolve(address, size)) {
    visit(extent, done);
    done += extent.size;
  }
}

}  // namespace gmlake
