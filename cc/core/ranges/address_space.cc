#include "cc/core/ranges/address_space.h"

#include <algorithm>

namespace gmlake {

void AddressSpace::AddReservation(Span span) {
  reservations_[span.base] = span.size;
  reserved_ += span.size;
  Insert(span);
}

void AddressSpace::RemoveReservation(Address base) {
  const auto found = reservations_.find(base);
  Erase({base, found->second});
  reserved_ -= found->second;
  reservations_.erase(found);
}

std::vector<Span> AddressSpace::Unused() const {
  std::vector<Span> unused;
  for (const auto& [base, size] : reservations_) {
    const auto free = free_.find(base);
    if (free != free_.end() && free->second == size) unused.push_back({base, size});
  }
  return unused;
}

std::optional<Address> AddressSpace::Take(Bytes size) {
  const auto fit = by_size_.lower_bound({size, Address()});
  if (fit == by_size_.end()) return std::nullopt;
  const Span span{fit->second, fit->first};
  Erase(span);
  if (size < span.size) Insert({span.base + size, span.size - size});
  if (inventory_ != nullptr) inventory_->OnReserve(span.base, size);
  return span.base;
}

void AddressSpace::Give(Span span) {
  while (span.size > Bytes(0)) {
    const Bytes sound = SoundFront(span);
    if (sound > Bytes(0)) GiveSound({span.base, sound});
    const auto spoiled = spoiled_.find(span.base + sound);
    const Bytes done = spoiled == spoiled_.end() ? sound : sound + spoiled->second;
    span = {span.base + done, span.size - done};
  }
}

void AddressSpace::Spoil(Span place) {
  if (IsReserved(place.base)) spoiled_[place.base] = place.size;
}

bool AddressSpace::IsReserved(Address address) const {
  const auto after = reservations_.upper_bound(address);
  return after != reservations_.begin() && address < std::prev(after)->first + std::prev(after)->second;
}

void AddressSpace::GiveSound(Span span) {
  if (inventory_ != nullptr) inventory_->OnFreeAddress(span.base, span.size);
  Insert(span);
}

Bytes AddressSpace::SoundFront(Span span) const {
  const auto place = spoiled_.lower_bound(span.base);
  return place == spoiled_.end() ? span.size : std::min(span.size, place->first - span.base);
}

bool AddressSpace::HoldsSpoiled(Span span) const { return SoundFront(span) < span.size; }

void AddressSpace::Insert(Span span) {
  for (const Span& neighbour : {FreeBefore(span.base), FreeAfter(span.end())}) {
    if (neighbour.size == Bytes(0)) continue;
    Erase(neighbour);
    span = {std::min(span.base, neighbour.base), span.size + neighbour.size};
  }
  free_[span.base] = span.size;
  by_size_.insert({span.size, span.base});
}

void AddressSpace::Erase(Span span) {
  free_.erase(span.base);
  by_size_.erase({span.size, span.base});
}

Span AddressSpace::FreeBefore(Address address) const {
  const auto after = free_.lower_bound(address);
  if (after == free_.begin() || IsReservation(address)) return {};
  const auto before = std::prev(after);
  return before->first + before->second == address ? Span{before->first, before->second} : Span{};
}

Span AddressSpace::FreeAfter(Address address) const {
  const auto after = free_.find(address);
  if (after == free_.end() || IsReservation(address)) return {};
  return {after->first, after->second};
}

Bytes AddressSpace::free_bytes() const {
  Bytes free;
  for (const auto& [base, size] : free_) free += size;
  return free;
}

Bytes AddressSpace::SpoiledIn(Span span) const {
  Bytes spoiled;
  for (auto it = spoiled_.lower_bound(span.base); it != spoiled_.end() && it->first < span.end(); ++it) {
    spoiled += it->second;
  }
  return spoiled;
}

Bytes AddressSpace::spoiled_bytes() const {
  Bytes spoiled;
  for (const auto& [base, size] : spoiled_) spoiled += size;
  return spoiled;
}

bool AddressSpace::IsFree(Span span) const {
  const auto after = free_.lower_bound(span.base);
  if (after != free_.end() && after->first < span.end()) return true;
  return after != free_.begin() && std::prev(after)->first + std::prev(after)->second > span.base;
}

std::string AddressSpace::Check() const {
  if (free_.size() != by_size_.size()) return "free addresses are not known by size";
  for (const auto& [base, size] : free_) {
    auto reservation = reservations_.upper_bound(base);
    if (reservation == reservations_.begin()) return "free addresses that were not reserved";
    --reservation;
    if (reservation->first + reservation->second < base + size) return "free addresses that were not reserved";
    if (FreeAfter(base + size).size > Bytes(0)) return "free addresses are not coalesced";
    if (HoldsSpoiled({base, size})) return "a spoiled place is free";
  }
  return "";
}

}  // namespace gmlake
