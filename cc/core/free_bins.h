// Free chunks by size: the answer to "the smallest piece that is large enough, lowest address first".
//
// Sixteen bins per octave, each a vector sorted by (size, address); two levels of bitmaps find the next bin that is not
// empty. The order is total, so the answer depends on what is free and on nothing else (no use order, no history).
#ifndef GMLAKE_CORE_FREE_BINS_H_
#define GMLAKE_CORE_FREE_BINS_H_

#include <array>
#include <cstdint>
#include <vector>

#include "cc/base/bytes.h"
#include "cc/core/chunk.h"

namespace gmlake {

// Model: a multiset of (size, address, chunk). Invariant: a bin's bit is set exactly when the bin holds an entry.
// Thread rule: the allocator's lock. Cost: a binary search and a short memmove; no heap traffic once warm.
class FreeBins {
 public:
  struct Entry {
    Bytes size;
    Address address;
    ChunkId chunk;
  };

  void Insert(const Entry& entry);
  void Erase(Bytes size, Address address);
  // The best fit for `size`, or kNone.
  ChunkId BestFit(Bytes size) const;
  // The largest entry's size, or zero.
  Bytes Largest() const;
  bool Contains(Bytes size, Address address) const;
  int64_t count() const;

  // Calls `visit(entry)` from the largest entry down to `smallest`.
  template <typename Visit>
  void ForEachFromLargest(Bytes smallest, Visit visit) const {
    for (int bin = kNumBins - 1; bin >= 0; --bin) {
      for (auto entry = bins_[bin].rbegin(); entry != bins_[bin].rend(); ++entry) {
        if (entry->size < smallest) return;
        visit(*entry);
      }
    }
  }

 private:
  using Bin = std::vector<Entry>;
  static constexpr int kUnitBits = 8;     // sizes are multiples of 256 bytes
  static constexpr int kSubBits = 4;      // 16 bins per octave
  static constexpr int kNumBins = 640;    // up to 2^47 bytes
  static constexpr int kNumWords = kNumBins / 64;

  static int BinOf(Bytes size);
  int NextBin(int bin) const;  // the first bin above `bin` that holds an entry, or -1
  static Bin::const_iterator Find(const Bin& bin, Bytes size, Address address);

  std::array<Bin, kNumBins> bins_;
  std::array<uint64_t, kNumWords> words_ = {};  // one bit per bin
  uint64_t summary_ = 0;                        // one bit per word
};

}  // namespace gmlake

#endif  // GMLAKE_CORE_FREE_BINS_H_
