// The addresses of stitched ranges: a few large reservations of the driver, cut into spans.
//
// Each live reservation makes the next one slower, and all devices of a process share 128 TiB. So there are few
// reservations, and a span that is given back serves the next range. address_source.h reserves and evicts.
#ifndef GMLAKE_CORE_RANGES_ADDRESS_SPACE_H_
#define GMLAKE_CORE_RANGES_ADDRESS_SPACE_H_

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "cc/base/bytes.h"
#include "cc/telemetry/inventory_log.h"

namespace gmlake {

struct Span {
  Address base;
  Bytes size;

  Address end() const { return base + size; }
};

// Model: reservations, and in each of them free spans; the rest is taken. Invariant: free spans lie in one reservation
// each, neither touch nor overlap another free span of it, and hold no spoiled place. Thread rule: the
// allocator's lock. Cost: logarithmic in the number of free spans.
class AddressSpace {
 public:
  // `inventory`, which may be null, hears of spans as of ranges that are reserved and freed.
  explicit AddressSpace(InventoryLog* inventory = nullptr) : inventory_(inventory) {}

  // All of it is free.
  void AddReservation(Span span);
  // Forgets a reservation of which nothing is taken.
  void RemoveReservation(Address base);
  // The reservations of which nothing is taken.
  std::vector<Span> Unused() const;

  // The front of the smallest free span with `size` bytes.
  std::optional<Address> Take(Bytes size);
  // Makes a taken span, or a part of one, free; of it, spoiled places stay taken for good.
  void Give(Span span);
  // A mapping would not come off at these addresses. Those outside the reservations are none of this table's.
  void Spoil(Span place);

  // Is any of it free?
  bool IsFree(Span span) const;

  Bytes reserved() const { return reserved_; }
  Bytes free_bytes() const;
  // Of these, which are taken, the bytes in spoiled places.
  Bytes SpoiledIn(Span span) const;
  Bytes spoiled_bytes() const;
  int64_t num_reservations() const { return static_cast<int64_t>(reservations_.size()); }
  // What is wrong with the table, or nothing.
  std::string Check() const;

 private:
  bool HoldsSpoiled(Span span) const;
  void GiveSound(Span span);
  // What of the span lies before the first spoiled place in it, or all of it.
  Bytes SoundFront(Span span) const;
  void Insert(Span span);
  void Erase(Span span);
  // The free span that ends, or begins, at `address` in the same reservation; empty if there is none.
  Span FreeBefore(Address address) const;
  Span FreeAfter(Address address) const;
  bool IsReserved(Address address) const;
  bool IsReservation(Address base) const { return reservations_.count(base) != 0; }

  InventoryLog* const inventory_;
  std::map<Address, Bytes> reservations_;
  std::map<Address, Bytes> free_;
  std::set<std::pair<Bytes, Address>> by_size_;  // the same spans
  std::map<Address, Bytes> spoiled_;
  Bytes reserved_;
};

}  // namespace gmlake

#endif  // GMLAKE_CORE_RANGES_ADDRESS_SPACE_H_
