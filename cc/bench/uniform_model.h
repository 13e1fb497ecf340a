// GMLake as its paper has it (ASPLOS'24), as a policy: every physical block is 2 MiB, and a request is served by the
// first that applies of
//   S1  a free piece, primitive or stitched, of exactly the size;
//   S2  the smallest free primitive piece that is larger, split;
//   S3  free primitive pieces, largest first, the last one split, stitched together;
//   S4  the same, with the deficit created.
// Stitched ranges stay mapped for S1 and are dropped least recently used first once 1000 GiB of addresses are stitched
// (the released code's default). Requests up to 1 MiB are packed by best fit into segments of 2 MiB.
//
// Generous where paper and released code differ: pieces coalesce, one SetAccess opens a whole range, S4 is on, and any
// request may be stitched (the released code starts at 512 MiB). What is left is the cost of uniform 2 MiB blocks.
#ifndef GMLAKE_BENCH_UNIFORM_MODEL_H_
#define GMLAKE_BENCH_UNIFORM_MODEL_H_

#include <cstdint>
#include <list>
#include <map>
#include <unordered_map>
#include <vector>

#include "cc/bench/free_runs.h"
#include "cc/bench/policy.h"

namespace gmlake::bench {

class UniformModel final : public Policy {
 public:
  UniformModel(Driver* driver, Bytes limit) : driver_(driver), limit_(limit) {}

  Address Allocate(Bytes size, StreamHandle stream) override;
  void Free(Address address, StreamHandle stream) override;

 private:
  // A stitched range: at `start`, the memory of `pieces` (primitive addresses) one after the other.
  struct Stitched {
    Address start;
    Bytes size;
    std::vector<Run> pieces;
    bool is_live = true;
  };
  using Stitches = std::list<Stitched>;  // least recently used first

  Address AllocateSmall(Bytes size);
  Address AllocateLarge(Bytes size);
  Address ReuseExact(Bytes size);
  Address ReuseStitched(Bytes size);
  Address Split(Bytes size);
  Address Stitch(Bytes size);
  bool IsFree(const Stitched& stitched) const;
  void Take(const std::vector<Run>& pieces);
  bool Create(Bytes size);
  bool MapPieces(Address start, const std::vector<Run>& pieces);
  void DropStitchesOverBudget();
  void Drop(Stitches::iterator stitched);

  Driver* const driver_;
  const Bytes limit_;
  Bytes held_;
  Bytes stitched_bytes_;
  FreeRuns small_;
  FreeRuns large_;
  std::map<Address, std::vector<BlockHandle>> primitives_;  // blocks of each primitive range, by its start
  Stitches stitches_;
  std::multimap<Bytes, Stitches::iterator> idle_stitches_;
  std::unordered_map<uint64_t, Stitches::iterator> live_stitches_;
  std::unordered_map<uint64_t, Bytes> live_small_;
  std::unordered_map<uint64_t, Bytes> live_large_;
};

}  // namespace gmlake::bench

#endif  // GMLAKE_BENCH_UNIFORM_MODEL_H_
