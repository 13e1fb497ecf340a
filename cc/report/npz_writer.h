// Arrays in NumPy's npz format: a zip archive of npy files, stored without compression, so that a process that has just
// run out of memory needs nothing but the data it already has.
#ifndef GMLAKE_REPORT_NPZ_WRITER_H_
#define GMLAKE_REPORT_NPZ_WRITER_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace gmlake {

// Model: an archive in memory, array after array. Limits: 4 GiB, 65535 arrays (there is no zip64).
class NpzWriter {
 public:
  // A one-dimensional array. `dtype` as NumPy describes it: "'|u1'", or "[('id', '<i4'), ('size', '<i8')]".
  void Add(const std::string& name, const std::string& dtype, const void* rows, size_t row_size, size_t count);
  // The whole file.
  std::string Finish() const;

 private:
  struct Entry {
    std::string name;
    uint32_t crc;
    uint32_t size;
    uint32_t offset;
  };

  std::string archive_;
  std::vector<Entry> entries_;
};

}  // namespace gmlake

#endif  // GMLAKE_REPORT_NPZ_WRITER_H_
