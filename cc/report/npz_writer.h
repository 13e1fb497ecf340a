// Arrays in NumPy's npz format: a zip archive of npy files, stored without compression, so that a process that has just
// run out of memory needs nothing but the data it already has.
#ifndef GMLAKE_REPORT_NPZ_WRITER_H_
#define GMLAKE_REPORT_NPZ_WRITER_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace gmlake {

// Model: an archive in memory, array after array. What does not fit into 32 bits is written as zip64 has it, which
// every reader of npz files knows. Limit: 65535 arrays.
class NpzWriter {
 public:
  NpzWriter() = default;
  // For tests: sizes and offsets from `zip64_from` on are written as zip64.
  explicit NpzWriter(uint64_t zip64_from) : zip64_from_(zip64_from) {}

  // A one-dimensional array. `dtype` as NumPy describes it: "'|u1'", or "[('id', '<i4'), ('size', '<i8')]".
  void Add(const std::string& name, const std::string& dtype, const void* rows, size_t row_size, size_t count);
  // The whole file.
  std::string Finish() const;

 private:
  struct Entry {
    std::string name;
    uint32_t crc;
    uint64_t size;
    uint64_t offset;
  };

  // What both headers of an entry say of it, up to the length of its extra field.
  void PutFacts(const Entry& entry, uint16_t extra_size, std::string* out) const;
  bool IsLong(uint64_t number) const { return number >= zip64_from_; }
  uint32_t Short(uint64_t number) const { return IsLong(number) ? 0xFFFFFFFFu : static_cast<uint32_t>(number); }
  void PutLocalHeader(const Entry& entry, std::string* out) const;
  void PutCentralHeader(const Entry& entry, std::string* out) const;
  void PutEnd(uint64_t directory_offset, uint64_t directory_size, std::string* out) const;

  uint64_t zip64_from_ = 0xFFFFFFFF;
  std::string archive_;
  std::vector<Entry> entries_;
};

}  // namespace gmlake

#endif  // GMLAKE_REPORT_NPZ_WRITER_H_
