#include "cc/core/tables/lease_table.h"

#include <random>
#include <unordered_map>

#include "gtest/gtest.h"

namespace gmlake {
namespace {

// Addresses that collide, erased in the middle of their chains.
TEST(LeaseTable, AgreesWithAnUnorderedMap) {
  std::mt19937_64 random(11);
  ChunkStore chunks;
  for (int i = 0; i < 100000; ++i) chunks.Add();
  LeaseTable table(&chunks);
  std::unordered_map<uint64_t, ChunkId> model;
  for (int step = 0; step < 100000; ++step) {
    const uint64_t address = 256 * (1 + random() % 5000);
    if (model.count(address) == 0) {
      table.Insert(Address(address), step);
      model[address] = step;
    } else {
      ASSERT_EQ(table.Find(Address(address)), model[address]);
      table.Erase(Address(address));
      model.erase(address);
    }
    ASSERT_EQ(table.count(), static_cast<int64_t>(model.size()));
  }
  for (const auto& [address, chunk] : model) EXPECT_EQ(table.Find(Address(address)), chunk);
  EXPECT_EQ(table.Find(Address(256 * 6000)), kNone);
}

}  // namespace
}  // namespace gmlake
