// Reads the integer arrays of a NumPy .npz file: a zip archive of .npy members, stored or deflated.
//
// As much of both formats as numpy.savez writes for one-dimensional, little-endian integers. Errors say what is wrong
// in one line.
#ifndef GMLAKE_BENCH_NPZ_H_
#define GMLAKE_BENCH_NPZ_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "cc/base/status.h"

namespace gmlake::bench {

using IntegerArrays = std::map<std::string, std::vector<int64_t>>;

StatusOr<IntegerArrays> ReadNpz(const std::string& path);

}  // namespace gmlake::bench

#endif  // GMLAKE_BENCH_NPZ_H_
