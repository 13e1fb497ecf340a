#include "cc/core/tables/free_bins.h"

#include <iterator>

namespace gmlake {
namespace {

bool Before(const FreeBins::Entry& entry, Bytes size, Address address) {
  return entry.size != size ? entry.size < size : entry.address < address;
}

bool Is(const FreeBins::Entry& entry, Bytes size, Address address) {
  return entry.size == size && entry.address == address;
}

}  // namespace

void FreeBins::InsertIntoFull(int bin, const Entry& entry) {
  Entries& more = bins_[bin].more;
  if (Before(bins_[bin].least, entry.size, entry.address)) {
    more.insert(Find(more, entry.size, entry.address), entry);
  } else {
    more.push_back(bins_[bin].least);
    bins_[bin].least = entry;
  }
}

void FreeBins::EraseFromMany(int bin, Bytes size, Address address) {
  Entries& more = bins_[bin].more;
  if (Is(bins_[bin].least, size, address)) {
    bins_[bin].least = more.back();
    more.pop_back();
  } else {
    more.erase(std::prev(Find(more, size, address)));
  }
}

// The bin's largest entry fits; which is the last, from largest to least, that does?
ChunkId FreeBins::FitAmongMany(int bin, Bytes size) const {
  return std::prev(Find(bins_[bin].more, size, Address()))->chunk;
}

Bytes FreeBins::Largest() const {
  const int last = LastBin();
  if (last < 0) return Bytes(0);
  return bins_[last].more.empty() ? bins_[last].least.size : bins_[last].more.front().size;
}

bool FreeBins::Contains(Bytes size, Address address) const {
  const int bin = BinOf(size);
  if (bins_[bin].least.chunk != kNone && Is(bins_[bin].least, size, address)) return true;
  const auto after = Find(bins_[bin].more, size, address);
  return after != bins_[bin].more.begin() && Is(*std::prev(after), size, address);
}

int FreeBins::LastBin() const {
  if (summary_ == 0) return -1;
  const int word = 63 - __builtin_clzll(summary_);
  return word * 64 + 63 - __builtin_clzll(words_[word]);
}

int FreeBins::PreviousBin(int bin) const {
  const int word = bin / 64;
  const uint64_t here = words_[word] & ((uint64_t{1} << (bin % 64)) - 1);
  if (here != 0) return word * 64 + 63 - __builtin_clzll(here);
  const uint64_t below = summary_ & ((uint64_t{1} << word) - 1);
  if (below == 0) return -1;
  const int previous = 63 - __builtin_clzll(below);
  return previous * 64 + 63 - __builtin_clzll(words_[previous]);
}

// The first entry, in descending order, that comes before (size, address).
FreeBins::Entries::const_iterator FreeBins::Find(const Entries& entries, Bytes size, Address address) {
  return std::partition_point(entries.begin(), entries.end(),
                              [&](const Entry& entry) { return !Before(entry, size, address); });
}

}  // namespace gmlake
