#include "cc/core/tables/free_bins.h"

#include <map>
#include <random>
#include <tuple>

#include "gtest/gtest.h"

namespace gmlake {
namespace {

TEST(FreeBins, GivesTheSmallestThatFitsAndTheLowestAddress) {
  FreeBins bins;
  bins.Insert(MiB(8), Address(0x3000000), 1);
  bins.Insert(MiB(4), Address(0x2000000), 2);
  bins.Insert(MiB(4), Address(0x1000000), 3);
  EXPECT_EQ(bins.BestFit(MiB(4)), 3);
  EXPECT_EQ(bins.BestFit(MiB(4) + Bytes(256)), 1);
  EXPECT_EQ(bins.BestFit(MiB(9)), kNone);
  EXPECT_EQ(bins.Largest(), MiB(8));
}

// Against an ordered map, over sizes from one unit to a terabyte.
TEST(FreeBins, AgreesWithAnOrderedMap) {
  std::mt19937_64 random(7);
  FreeBins bins;
  std::map<std::pair<int64_t, uint64_t>, ChunkId> model;
  const auto any_size = [&] { return Bytes(((int64_t{1} << (random() % 33)) + random() % 9) * 256); };
  for (int step = 0; step < 20000; ++step) {
    if (random() % 2 == 0 || model.empty()) {
      const Bytes size = any_size();
      const Address address((step + 1) * 256);
      bins.Insert(size, address, step);
      model[{size.count(), address.value()}] = step;
    } else {
      auto entry = model.begin();
      std::advance(entry, random() % std::min<size_t>(model.size(), 50));
      bins.Erase(Bytes(entry->first.first), Address(entry->first.second));
      model.erase(entry);
    }
    const Bytes want = any_size();
    const auto fit = model.lower_bound({want.count(), 0});
    ASSERT_EQ(bins.BestFit(want), fit == model.end() ? kNone : fit->second);
    ASSERT_EQ(bins.Largest(), model.empty() ? Bytes(0) : Bytes(model.rbegin()->first.first));
  }
}

}  // namespace
}  // namespace gmlake
