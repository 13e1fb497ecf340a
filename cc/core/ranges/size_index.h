// Sizes by number, and a search for the next number whose size is large enough.
//
// range_room.h keeps one size for each stitched range in it.
#ifndef GMLAKE_CORE_RANGES_SIZE_INDEX_H_
#define GMLAKE_CORE_RANGES_SIZE_INDEX_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "cc/base/bytes.h"
#include "cc/core/tables/chunk.h"

namespace gmlake {

// Model: a size for every number from 0 on, zero unless set. Invariant: a binary tree, its root at 1, the children of
// node n at 2n and 2n + 1, its leaves the sizes; every inner node has the larger size of its children's. Thread rule:
// the allocator's lock. Cost: a step for each level of the tree, at the most.
class SizeIndex {
 public:
  SizeIndex() : sizes_(2 * num_leaves_) {}

  Bytes operator[](int32_t number) const {
    const size_t leaf = num_leaves_ + static_cast<size_t>(number);
    return leaf < sizes_.size() ? sizes_[leaf] : Bytes(0);
  }

  void Set(int32_t number, Bytes size) {
    while (num_leaves_ <= static_cast<size_t>(number)) Double();
    size_t node = num_leaves_ + static_cast<size_t>(number);
    sizes_[node] = size;
    while (node > 1 && SetInner(node / 2)) node /= 2;
  }

  // The first number from `from` on whose size is at least `least`, which is not zero; kNone if there is none.
  int32_t Next(int32_t from, Bytes least) const {
    if (num_leaves_ <= static_cast<size_t>(from)) return kNone;
    size_t node = num_leaves_ + static_cast<size_t>(from);
    while (sizes_[node] < least) {
      ++node;
      node >>= __builtin_ctzll(node);  // the highest that begins there
      if (node == 1) return kNone;     // behind the last is the first of the next level
    }
    while (node < num_leaves_) node = sizes_[2 * node] < least ? 2 * node + 1 : 2 * node;
    return static_cast<int32_t>(node - num_leaves_);
  }

 private:
  // Was it another size before?
  bool SetInner(size_t node) {
    const Bytes larger = std::max(sizes_[2 * node], sizes_[2 * node + 1]);
    if (sizes_[node] == larger) return false;
    sizes_[node] = larger;
    return true;
  }

  void Double() {
    const auto leaves = sizes_.begin() + static_cast<std::ptrdiff_t>(num_leaves_);
    std::vector<Bytes> sizes(4 * num_leaves_);
    num_leaves_ *= 2;
    std::copy(leaves, sizes_.end(), sizes.begin() + static_cast<std::ptrdiff_t>(num_leaves_));
    sizes_.swap(sizes);
    for (size_t node = num_leaves_ - 1; node > 0; --node) SetInner(node);
  }

  size_t num_leaves_ = 16;  // a power of two
  std::vector<Bytes> sizes_;
};

}  // namespace gmlake

#endif  // GMLAKE_CORE_RANGES_SIZE_INDEX_H_
