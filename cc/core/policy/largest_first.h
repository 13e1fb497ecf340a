// Free blocks in the order in which a stitch takes them: the largest first, by address where equal.
//
// A stitch takes few of the free blocks, so only as many are sorted as are read. The stitcher decides whether a block
// may be taken.
#ifndef GMLAKE_CORE_POLICY_LARGEST_FIRST_H_
#define GMLAKE_CORE_POLICY_LARGEST_FIRST_H_

#include <algorithm>
#include <cstddef>
#include <vector>

#include "cc/base/bytes.h"
#include "cc/core/tables/chunk.h"

namespace gmlake {

// A block of which all is free.
struct FreeBlock {
  BlockId block = kNone;
  Bytes size;
  Address home;
};

// Model: a sequence of blocks, read once, that skips those larger than what is still needed, which only ever gets less.
// Invariant: [next_, sorted_) are in order, and before all that follow. Thread rule: the allocator's lock. Cost: one
// step per block, and those of a sort for about as many as are read.
class LargestFirst {
 public:
  LargestFirst(const std::vector<FreeBlock>& blocks, Bytes need) {
    blocks_.reserve(blocks.size());
    for (const FreeBlock& block : blocks) block.size <= need ? blocks_.push_back(block) : Skip(block);
  }

  // The next that is at most `need`, or null.
  const FreeBlock* Next(Bytes need) {
    while (next_ < sorted_ || SortMore(need)) {
      const FreeBlock& block = blocks_[next_++];
      if (block.size <= need) return &block;
      Skip(block);
    }
    return nullptr;
  }
  // Of those skipped so far, the one that comes last, and so is the smallest; block kNone: there is none.
  const FreeBlock& smallest_skipped() const { return skipped_; }

 private:
  static bool Before(const FreeBlock& a, const FreeBlock& b) {
    return a.size != b.size ? b.size < a.size : a.home < b.home;
  }
  void Skip(const FreeBlock& block) {
    if (skipped_.block == kNone || Before(skipped_, block)) skipped_ = block;
  }
  // Skips what is too large of those that are in no order, and puts the next ones in order, twice as many as the last
  // time. False: there are none.
  bool SortMore(Bytes need) {
    const auto at = [this](size_t index) { return blocks_.begin() + static_cast<std::ptrdiff_t>(index); };
    const auto fit =
        std::partition(at(sorted_), blocks_.end(), [need](const FreeBlock& block) { return need < block.size; });
    std::for_each(at(sorted_), fit, [this](const FreeBlock& block) { Skip(block); });
    next_ = static_cast<size_t>(fit - blocks_.begin());
    sorted_ = std::min(blocks_.size(), next_ + batch_);
    batch_ *= 2;
    std::nth_element(fit, at(sorted_), blocks_.end(), Before);
    std::sort(fit, at(sorted_), Before);
    return next_ < sorted_;
  }

  std::vector<FreeBlock> blocks_;
  size_t next_ = 0;
  size_t sorted_ = 0;
  size_t batch_ = 32;
  FreeBlock skipped_;
};

}  // namespace gmlake

#endif  // GMLAKE_CORE_POLICY_LARGEST_FIRST_H_
