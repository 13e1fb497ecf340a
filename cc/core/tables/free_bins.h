// Free chunks by size: the answer to "the smallest piece that is large enough, lowest address first".
//
// Sixteen bins per octave; two levels of bitmaps find the next bin that is not empty. Nearly always a bin holds one
// entry or none, so a bin is its least entry and a vector of the others, in one cache line. The order is total, so the
// answer depends on what is free and on nothing else (no use order, no history).
#ifndef GMLAKE_CORE_TABLES_FREE_BINS_H_
#define GMLAKE_CORE_TABLES_FREE_BINS_H_

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "cc/base/bytes.h"
#include "cc/core/tables/chunk.h"

namespace gmlake {

// Model: a multiset of (size, address, chunk). Invariant: a bin's bit is set exactly when the bin holds an entry, and
// its least entry comes before all others. Thread rule: the allocator's lock. Cost: a cache line or two where a bin
// holds one entry; else a binary search and a short memmove. No heap traffic once warm.
class FreeBins {
 public:
  struct Entry {
    Bytes size;
    Address address;
    ChunkId chunk = kNone;
  };

  void Insert(Bytes size, Address address, ChunkId chunk) {
    const int bin = BinOf(size);
    if (bins_[bin].least.chunk != kNone) return InsertIntoFull(bin, {size, address, chunk});
    bins_[bin].SetLeast(size, address, chunk);
    words_[bin / 64] |= uint64_t{1} << (bin % 64);
    summary_ |= uint64_t{1} << (bin / 64);
  }

  void Erase(Bytes size, Address address) {
    const int bin = BinOf(size);
    if (!bins_[bin].more.empty()) return EraseFromMany(bin, size, address);
    bins_[bin].least.chunk = kNone;
    words_[bin / 64] &= ~(uint64_t{1} << (bin % 64));
    if (words_[bin / 64] == 0) summary_ &= ~(uint64_t{1} << (bin / 64));
  }

  // The chunk at `address` is now smaller or larger, or another one, at `to`: the same as to erase and to insert.
  void Replace(Bytes before, Address address, Bytes size, Address to, ChunkId chunk) {
    const int bin = BinOf(before);
    if (bin == BinOf(size) && bins_[bin].more.empty()) {
      bins_[bin].SetLeast(size, to, chunk);
    } else {
      Erase(before, address);
      Insert(size, to, chunk);
    }
  }

  // The best fit for `size`, or kNone.
  ChunkId BestFit(Bytes size) const {
    const int bin = BinOf(size);
    if (bins_[bin].least.chunk != kNone && size <= bins_[bin].least.size) return bins_[bin].least.chunk;
    if (!bins_[bin].more.empty() && size <= bins_[bin].more.front().size) return FitAmongMany(bin, size);
    const int next = NextBin(bin);
    return next < 0 ? kNone : bins_[next].least.chunk;
  }

  // Calls `visit(chunk)` for the least entry of every bin above the one of `size`, until it returns true.
  template <typename Visit>
  void ForEachAbove(Bytes size, Visit visit) const {
    for (int bin = NextBin(BinOf(size)); bin >= 0; bin = NextBin(bin)) {
      if (visit(bins_[bin].least.chunk)) return;
    }
  }

  // The largest entry's size, or zero.
  Bytes Largest() const;
  bool Contains(Bytes size, Address address) const;

  // Calls `visit(entry)` from the largest entry down to `smallest`.
  template <typename Visit>
  void ForEachFromLargest(Bytes smallest, Visit visit) const {
    for (int bin = LastBin(); bin >= 0; bin = PreviousBin(bin)) {
      for (const Entry& entry : bins_[bin].more) {
        if (entry.size < smallest) return;
        visit(entry);
      }
      if (bins_[bin].least.size < smallest) return;
      visit(bins_[bin].least);
    }
  }

 private:
  using Entries = std::vector<Entry>;
  static constexpr int kUnitBits = 8;   // sizes are multiples of 256 bytes
  static constexpr int kSubBits = 4;    // 16 bins per octave
  static constexpr int kNumBins = 640;  // up to 2^47 bytes
  static constexpr int kNumWords = kNumBins / 64;

  // Sizes below 16 units have a bin each; above, an octave has 16.
  static int BinOf(Bytes size) {
    const uint64_t units = static_cast<uint64_t>(size.count()) >> kUnitBits;
    if (units < (1u << kSubBits)) return static_cast<int>(units);
    const int octave = 63 - __builtin_clzll(units) - kSubBits;
    return std::min(kNumBins - 1, (octave << kSubBits) + static_cast<int>(units >> octave));
  }

  // The first bin above `bin` that holds an entry, or -1.
  int NextBin(int bin) const {
    const int word = bin / 64;
    const uint64_t here = words_[word] & (~uint64_t{1} << (bin % 64));
    if (here != 0) return word * 64 + __builtin_ctzll(here);
    const uint64_t above = summary_ & (~uint64_t{1} << word);
    if (above == 0) return -1;
    const int next = __builtin_ctzll(above);
    return next * 64 + __builtin_ctzll(words_[next]);
  }

  int LastBin() const;
  int PreviousBin(int bin) const;  // the first bin below `bin` that holds an entry, or -1
  void InsertIntoFull(int bin, const Entry& entry);
  void EraseFromMany(int bin, Bytes size, Address address);
  ChunkId FitAmongMany(int bin, Bytes size) const;
  static Entries::const_iterator Find(const Entries& entries, Bytes size, Address address);

  struct alignas(64) Bin {
    Entry least;
    Entries more;  // largest first, so that the next least is at the back

    // Number by number: an entry would be put together in memory and read back, which waits for the writes.
    void SetLeast(Bytes size, Address address, ChunkId chunk) {
      least.size = size;
      least.address = address;
      least.chunk = chunk;
    }
  };

  std::array<Bin, kNumBins> bins_;
  std::array<uint64_t, kNumWords> words_ = {};  // one bit per bin
  uint64_t summary_ = 0;                        // one bit per word
};

}  // namespace gmlake

#endif  // GMLAKE_CORE_TABLES_FREE_BINS_H_
