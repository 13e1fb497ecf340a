#include "cc/emulator/device/order.h"

#include <algorithm>

#include "cc/emulator/device/machine.h"

namespace gmlake::emulator {
namespace {

void AddPlaces(const Span& span, std::vector<Place>* places) {
  for (uint64_t at = span.begin; at < span.begin + span.size;) {
    const uint64_t end = span.begin + span.size;
    const Mapping* const mapping = machine().map.FindMapping(at);
    if (mapping == nullptr) return places->push_back({0, at, end, span.is_write});
    const uint64_t stop = std::min(end, mapping->end());
    places->push_back({mapping->block, at - mapping->begin, stop - mapping->begin, span.is_write});
    at = stop;
  }
}

void AddPlaces(const Operation& operation, std::vector<Place>* places) {
  if (!operation.enabled) return;
  if (operation.type == CU_GRAPH_NODE_TYPE_MEMCPY || operation.type == CU_GRAPH_NODE_TYPE_MEMSET) {
    for (const Span& span : operation.spans) AddPlaces(span, places);
  }
  if (operation.children == nullptr) return;
  for (const Operation& child : *operation.children) AddPlaces(child, places);
}

bool Collide(const Place& a, const Place& b) {
  return a.block == b.block && a.begin < b.end && b.begin < a.end && (a.is_write || b.is_write);
}

}  // namespace

void Clock::Advance(uint64_t queue, uint64_t number) { until_[queue] = std::max(until_[queue], number); }

void Clock::Merge(const Clock& other) {
  for (const auto& [queue, number] : other.until_) Advance(queue, number);
}

bool Clock::IsAfter(uint64_t queue, uint64_t number) const {
  const auto known = until_.find(queue);
  return known != until_.end() && number <= known->second;
}

std::vector<Place> PlacesOf(const Operation& operation) {
  std::lock_guard<std::mutex> lock(machine().mutex);
  std::vector<Place> places;
  AddPlaces(operation, &places);
  return places;
}

bool Collide(const std::vector<Place>& some, const std::vector<Place>& others) {
  return std::any_of(some.begin(), some.end(), [&](const Place& a) {
    return std::any_of(others.begin(), others.end(), [&](const Place& b) { return Collide(a, b); });
  });
}

}  // namespace gmlake::emulator
