#include "cc/core/mapping/address_source.h"

#include "cc/core/mapping/reservation.h"

namespace gmlake {
namespace {

constexpr int64_t kRoomPerSize = 8;  // addresses taken per byte mapped, so that a range can be extended in place

}  // namespace

StatusOr<Site> AddressSource::Take(Bytes size, bool may_wait) {
  const Bytes room = size * kRoomPerSize;
  if (const auto site = FromSpace(room)) return *site;
  if (arenas_.Reserve(room, AddressesLeft(*memory_)).ok()) return *FromSpace(room);
  if (const auto site = FromSpace(size)) return *site;
  memory_->TakeBackRoom();
  if (const auto site = FromSpace(size)) return *site;
  return TakeFromIdle(size, may_wait);
}

StatusOr<Site> AddressSource::TakeFromIdle(Bytes size, bool may_wait) {
  order_->Poll(memory_->epoch());
  std::optional<Site> site;
  reclaimer_->UnmapIdleUntil([&] { return (site = FromSpace(size)).has_value(); });
  if (site.has_value()) return *site;
  arenas_.FreeUnused();  // the driver may then have a larger piece
  Status reserved = arenas_.Reserve(size, AddressesLeft(*memory_));
  const bool within_budget = may_wait && !order_->HasProven(memory_->epoch());
  if (!reserved.ok() && !within_budget) reserved = arenas_.Reserve(size, size);
  if (reserved.ok()) return *FromSpace(size);
  return Status(StatusCode::kOutOfMemory, "no addresses are left to stitch " + ToString(size) +
                                              " at: " + ToString(memory_->address_bytes()) + " are reserved");
}

std::optional<Site> AddressSource::FromSpace(Bytes size) const {
  const std::optional<Address> at = memory_->addresses.Take(size);
  if (!at.has_value()) return std::nullopt;
  return Site{*at, size};
}

void AddressSource::Return(const Site& site) {
  memory_->addresses.Give({site.at, site.reserved});
  arenas_.FreeUnused();
}

}  // namespace gmlake
