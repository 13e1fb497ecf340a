#include "cc/emulator/device/machine.h"

#include <algorithm>

#include "cc/emulator/calls/settings.h"

namespace gmlake::emulator {
namespace {

constexpr size_t kPoolChunk = size_t{32} << 20;

}  // namespace

Machine::Machine() {
  const std::vector<int>& numbers = settings().visible;
  const int count = static_cast<int>(numbers.size());
  memory.reserve(count);
  for (int i = 0; i < count; ++i) memory.emplace_back(numbers[i], settings().memory, settings().shared);
  devices.resize(count);
  for (int i = 0; i < count; ++i) {
    Device& device = devices[i];
    device.number = numbers[i];
    device.primary_context.device = i;
    device.plain = std::make_unique<CUmemPoolHandle_st>(i, &window, &memory[i], kGranule, 0);
    device.default_pool = std::make_unique<CUmemPoolHandle_st>(i, &window, &memory[i], kPoolChunk, 0);
    device.current_pool = device.default_pool.get();
    device.peers.resize(count);
  }
}

int Machine::OrdinalOf(int number) const {
  const auto found = std::find_if(devices.begin(), devices.end(), [&](const Device& d) { return d.number == number; });
  return found == devices.end() ? -1 : static_cast<int>(found - devices.begin());
}

CUmemoryPool Machine::AddPool(int device, size_t chunk, size_t limit) {
  pools.push_back(std::make_unique<CUmemPoolHandle_st>(device, &window, &memory[device], chunk, limit));
  return pools.back().get();
}

bool Machine::RemovePool(CUmemoryPool pool) {
  const auto is_it = [pool](const auto& made) { return made.get() == pool; };
  const auto found = std::find_if(pools.begin(), pools.end(), is_it);
  if (found == pools.end()) return false;
  if (pool->used() == 0) pools.erase(found);  // else it lives on for the allocations that are still in it
  return true;
}

void Machine::ReleaseIdlePoolMemory() {
  for (Device& device : devices) device.default_pool->ReleaseDownToThreshold();
  for (const auto& pool : pools) pool->ReleaseDownToThreshold();
}

Machine& machine() {
  static auto* const made = new Machine;
  return *made;
}

}  // namespace gmlake::emulator
