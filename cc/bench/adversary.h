// Jobs made to break allocators, by code and seed. All of them keep live bytes at or below 98 % of the limit, and a
// policy that stitches serves every request.
//
// Left out is what nothing survives that cannot move memory: so many survivors that they pin most granules of 2 MiB, be
// they small, or of sizes that end inside a granule and no larger than a few.
#ifndef GMLAKE_BENCH_ADVERSARY_H_
#define GMLAKE_BENCH_ADVERSARY_H_

#include <cstdint>
#include <string>
#include <vector>

#include "cc/base/bytes.h"
#include "cc/bench/trace.h"

namespace gmlake::bench {

// scattered    long-lived small blocks between large ones; the large ones go, and one request takes all that is left
// alternating  the device full of one size, a multiple of 2 MiB; every other block freed, then twice the size; again
//              and again with other sizes
// growing      buffers that grow by a factor, each copied into its successor before it goes
// power        sizes of a power of two plus one byte, from 257 bytes up, random frees, the device kept full
// residents    a third of the device in residents replaced at random, and a slab that takes the rest, round after round
// settled      200 survivors of one to three granules scattered among blocks of 16 to 64 MiB; the large ones go, one
//              request takes all that is left, half of the survivors go, and again
// slabs        small buffers in bursts between large ones, in memory that was held in one piece before; the large ones
//              go and one of each burst stays; one request takes all that is left; again with other sizes
// loading      parameters of 1 to 4 MiB that stay beside temporary buffers of 14 to 30 MiB that go, up to an eighth of
//              the device; then one request takes all that is left
const std::vector<std::string>& AdversaryNames();

// `name` is one of the above.
std::vector<RawEvent> MakeAdversary(const std::string& name, Bytes limit, uint64_t seed);

}  // namespace gmlake::bench

#endif  // GMLAKE_BENCH_ADVERSARY_H_
