#include "cc/core/ranges/address_space.h"

#include <map>
#include <optional>
#include <random>
#include <vector>

#include "gtest/gtest.h"

namespace gmlake {
namespace {

constexpr Address kBase(uint64_t{1} << 40);

TEST(AddressSpace, TakesTheSmallestSpanThatFitsAndTheLowest) {
  AddressSpace space;
  space.AddReservation({kBase, GiB(4)});
  space.AddReservation({kBase + GiB(8), GiB(1)});
  EXPECT_EQ(space.Take(MiB(512)), kBase + GiB(8));
  EXPECT_EQ(space.Take(GiB(1)), kBase);
  EXPECT_EQ(space.Take(GiB(4)), std::nullopt);
  EXPECT_EQ(space.reserved(), GiB(5));
}

// The driver may put two reservations side by side, but opens and unmaps nothing across them.
TEST(AddressSpace, NeverJoinsTwoReservations) {
  AddressSpace space;
  space.AddReservation({kBase, GiB(1)});
  space.AddReservation({kBase + GiB(1), GiB(1)});
  EXPECT_EQ(space.Take(GiB(2)), std::nullopt);
  EXPECT_EQ(space.Take(GiB(1)), kBase);
  space.Give({kBase, GiB(1)});
  EXPECT_EQ(space.Unused().size(), 2u);
  EXPECT_EQ(space.Check(), "");
}

TEST(AddressSpace, ASpoiledPlaceIsNeverHandedOutAgainAndWhatIsAroundItIs) {
  AddressSpace space;
  space.AddReservation({kBase, MiB(16)});
  const Address at = *space.Take(MiB(8));
  space.Spoil({at + MiB(4), MiB(2)});
  space.Give({at, MiB(8)});
  EXPECT_EQ(space.Check(), "");
  EXPECT_TRUE(space.Unused().empty());
  EXPECT_EQ(space.Take(MiB(10)), at + MiB(6)) << "behind it, with what follows";
  EXPECT_EQ(space.Take(MiB(4)), at);
  EXPECT_EQ(space.Take(MiB(2)), std::nullopt);
}

TEST(AddressSpace, SpoiledPlacesAtBothEndsStay) {
  AddressSpace space;
  space.AddReservation({kBase, MiB(8)});
  const Address at = *space.Take(MiB(8));
  space.Spoil({at, MiB(2)});
  space.Spoil({at + MiB(6), MiB(2)});
  space.Give({at, MiB(8)});
  EXPECT_EQ(space.Check(), "");
  EXPECT_EQ(space.Take(MiB(4)), at + MiB(2));
  EXPECT_EQ(space.Take(MiB(2)), std::nullopt);
}

// Against a map of what is taken, granule by granule.
TEST(AddressSpace, NeverHandsOutWhatIsTaken) {
  std::mt19937_64 random(5);
  AddressSpace space;
  for (int i = 0; i < 3; ++i) space.AddReservation({kBase + MiB(64) * i, MiB(64)});
  std::map<Address, Bytes> taken;
  for (int step = 0; step < 20000; ++step) {
    const Bytes size = MiB(2) * (1 + static_cast<int64_t>(random() % 8));
    if (random() % 2 == 0) {
      const std::optional<Address> at = space.Take(size);
      if (!at.has_value()) continue;
      for (Address granule = *at; granule < *at + size; granule = granule + MiB(2)) {
        ASSERT_TRUE(taken.emplace(granule, MiB(2)).second) << step;
      }
    } else if (!taken.empty()) {
      const auto granule = std::next(taken.begin(), static_cast<int64_t>(random() % taken.size()));
      space.Give({granule->first, granule->second});
      taken.erase(granule);
    }
    ASSERT_EQ(space.Check(), "") << step;
  }
  for (const auto& [address, size] : taken) space.Give({address, size});
  EXPECT_EQ(space.Unused().size(), 3u);
}

}  // namespace
}  // namespace gmlake
