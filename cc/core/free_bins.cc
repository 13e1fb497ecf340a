#include "cc/core/free_bins.h"

#include <algorithm>

namespace gmlake {
namespace {

bool Before(const FreeBins::Entry& entry, Bytes size, Address address) {
  return entry.size != size ? entry.size < size : entry.address < address;
}

}  // namespace

void FreeBins::Insert(const Entry& entry) {
  const int index = BinOf(entry.size);
  Bin& bin = bins_[index];
  bin.insert(Find(bin, entry.size, entry.address), entry);
  words_[index / 64] |= uint64_t{1} << (index % 64);
  summary_ |= uint64_t{1} << (index / 64);
}

void FreeBins::Erase(Bytes size, Address address) {
  const int index = BinOf(size);
  Bin& bin = bins_[index];
  bin.erase(Find(bin, size, address));
  if (!bin.empty()) return;
  words_[index / 64] &= ~(uint64_t{1} << (index % 64));
  if (words_[index / 64] == 0) summary_ &= ~(uint64_t{1} << (index / 64));
}

ChunkId FreeBins::BestFit(Bytes size) const {
  const int index = BinOf(size);
  const Bin& bin = bins_[index];
  const auto entry = Find(bin, size, Address());
  if (entry != bin.end()) return entry->chunk;
  const int next = NextBin(index);
  return next < 0 ? kNone : bins_[next].front().chunk;
}

Bytes FreeBins::Largest() const {
  if (summary_ == 0) return Bytes(0);
  const int word = 63 - __builtin_clzll(summary_);
  return bins_[word * 64 + 63 - __builtin_clzll(words_[word])].back().size;
}

bool FreeBins::Contains(Bytes size, Address address) const {
  const Bin& bin = bins_[BinOf(size)];
  const auto entry = Find(bin, size, address);
  return entry != bin.end() && entry->size == size && entry->address == address;
}

int64_t FreeBins::count() const {
  int64_t total = 0;
  for (const Bin& bin : bins_) total += static_cast<int64_t>(bin.size());
  return total;
}

// Sizes below 16 units have a bin each; above, an octave has 16.
int FreeBins::BinOf(Bytes size) {
  const uint64_t units = static_cast<uint64_t>(size.count()) >> kUnitBits;
  if (units < (1u << kSubBits)) return static_cast<int>(units);
  const int octave = 63 - __builtin_clzll(units) - kSubBits;
  const int sub = static_cast<int>(units >> octave) & ((1 << kSubBits) - 1);
  return std::min(kNumBins - 1, ((octave + 1) << kSubBits) + sub);
}

int FreeBins::NextBin(int bin) const {
  const int word = bin / 64;
  const uint64_t here = bin % 64 == 63 ? 0 : words_[word] & (~uint64_t{0} << (bin % 64 + 1));
  if (here != 0) return word * 64 + __builtin_ctzll(here);
  const uint64_t above = summary_ & (~uint64_t{0} << (word + 1));
  if (above == 0) return -1;
  const int next = __builtin_ctzll(above);
  return next * 64 + __builtin_ctzll(words_[next]);
}

FreeBins::Bin::const_iterator FreeBins::Find(const Bin& bin, Bytes size, Address address) {
  return std::partition_point(bin.begin(), bin.end(), [&](const Entry& entry) {
    return Before(entry, size, address);
  });
}

}  // namespace gmlake
