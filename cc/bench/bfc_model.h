// XLA's default allocator (BFC) as a policy: best fit with coalescing in one preallocated region, or in regions that
// double.
//
// Modelled: 256-byte alignment; best fit by size, then address (what BFC's bins amount to, since each bin is ordered
// and bins are searched upwards); a chunk is handed out whole unless half of it, or 128 MiB, would be left over;
// coalescing inside a region; growth that starts at 2 MiB and doubles, backing off by tenths when the device refuses.
// Not modelled: its speed (a test compares with the real one), its second thread waiting for memory, garbage
// collection, which XLA leaves off.
#ifndef GMLAKE_BENCH_BFC_MODEL_H_
#define GMLAKE_BENCH_BFC_MODEL_H_

#include <unordered_map>

#include "cc/bench/free_runs.h"
#include "cc/bench/policy.h"

namespace gmlake::bench {

class BfcModel final : public Policy {
 public:
  enum class Mode { kPreallocate, kGrow };
  BfcModel(Driver* driver, Bytes limit, Mode mode);

  Address Allocate(Bytes size, StreamHandle stream) override;
  void Free(Address address, StreamHandle stream) override;

 private:
  bool Extend(Bytes rounded);
  bool AddRegion(Bytes size);
  Address Place(Bytes rounded);

  Driver* const driver_;
  const Bytes limit_;
  Bytes next_region_;
  Bytes held_;
  FreeRuns free_;
  std::unordered_map<uint64_t, Bytes> chunks_;  // size of each chunk in use, by address
};

}  // namespace gmlake::bench

#endif  // GMLAKE_BENCH_BFC_MODEL_H_
