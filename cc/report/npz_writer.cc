#include "cc/report/npz_writer.h"

#include <array>

namespace gmlake {
namespace {

constexpr uint32_t kLocalHeader = 0x04034b50;
constexpr uint32_t kCentralHeader = 0x02014b50;
constexpr uint32_t kEndOfArchive = 0x06054b50;
constexpr uint32_t kEndOfArchive64 = 0x06064b50;
constexpr uint32_t kLocator64 = 0x07064b50;
constexpr uint32_t kVersion = 45;           // of zip: the first with zip64
constexpr uint32_t kFirstDay = 0x00210000;  // 1980-01-01, 0:00

void Put(int bits, uint64_t value, std::string* out) {
  for (int shift = 0; shift < bits; shift += 8) out->push_back(static_cast<char>(value >> shift));
}

void Put16(uint32_t value, std::string* out) { Put(16, value, out); }
void Put32(uint32_t value, std::string* out) { Put(32, value, out); }
void Put64(uint64_t value, std::string* out) { Put(64, value, out); }

// The extra field that has the numbers which do not fit into their places, each 8 bytes; none needs none.
std::string Zip64Field(const std::string& numbers) {
  std::string field;
  if (numbers.empty()) return field;
  Put16(1, &field);  // zip64
  Put16(static_cast<uint32_t>(numbers.size()), &field);
  return field + numbers;
}

std::array<uint32_t, 256> MakeCrcTable() {
  std::array<uint32_t, 256> table{};
  for (uint32_t i = 0; i < 256; ++i) {
    uint32_t c = i;
    for (int bit = 0; bit < 8; ++bit) c = (c & 1) != 0 ? 0xEDB88320u ^ (c >> 1) : c >> 1;
    table[i] = c;
  }
  return table;
}

uint32_t Crc(const std::string& data) {
  static const std::array<uint32_t, 256> table = MakeCrcTable();
  uint32_t crc = 0xFFFFFFFFu;
  for (unsigned char byte : data) crc = table[(crc ^ byte) & 0xFF] ^ (crc >> 8);
  return ~crc;
}

// The npy format, version 1.0: the header is padded so that the data begin at a multiple of 64.
std::string NpyHeader(const std::string& dtype, size_t count) {
  std::string text = "{'descr': " + dtype + ", 'fortran_order': False, 'shape': (" + std::to_string(count) + ",), }";
  constexpr size_t kPrefix = 10;
  while ((kPrefix + text.size() + 1) % 64 != 0) text.push_back(' ');
  text.push_back('\n');
  std::string header("\x93NUMPY\x01\x00", 8);
  Put16(static_cast<uint32_t>(text.size()), &header);
  return header + text;
}

}  // namespace

void NpzWriter::Add(const std::string& name, const std::string& dtype, const void* rows, size_t row_size,
                    size_t count) {
  std::string content = NpyHeader(dtype, count);
  content.append(static_cast<const char*>(rows), row_size * count);
  const Entry entry{name + ".npy", Crc(content), content.size(), archive_.size()};
  PutLocalHeader(entry, &archive_);
  archive_ += content;
  entries_.push_back(entry);
}

void NpzWriter::PutFacts(const Entry& entry, uint16_t extra_size, std::string* out) const {
  Put16(kVersion, out);
  Put16(0, out);
  Put16(0, out);  // stored
  Put32(kFirstDay, out);
  Put32(entry.crc, out);
  Put32(Short(entry.size), out);
  Put32(Short(entry.size), out);
  Put16(static_cast<uint32_t>(entry.name.size()), out);
  Put16(extra_size, out);
}

void NpzWriter::PutLocalHeader(const Entry& entry, std::string* out) const {
  std::string sizes;
  if (IsLong(entry.size)) {
    Put64(entry.size, &sizes);
    Put64(entry.size, &sizes);
  }
  const std::string extra = Zip64Field(sizes);
  Put32(kLocalHeader, out);
  PutFacts(entry, static_cast<uint16_t>(extra.size()), out);
  *out += entry.name + extra;
}

void NpzWriter::PutCentralHeader(const Entry& entry, std::string* out) const {
  std::string numbers;
  if (IsLong(entry.size)) {
    Put64(entry.size, &numbers);
    Put64(entry.size, &numbers);
  }
  if (IsLong(entry.offset)) Put64(entry.offset, &numbers);
  const std::string extra = Zip64Field(numbers);
  Put32(kCentralHeader, out);
  Put16(kVersion, out);
  PutFacts(entry, static_cast<uint16_t>(extra.size()), out);
  out->append(10, '\0');  // no comment, first disk, no attributes
  Put32(Short(entry.offset), out);
  *out += entry.name + extra;
}

void NpzWriter::PutEnd(uint64_t directory_offset, uint64_t directory_size, std::string* out) const {
  if (IsLong(directory_offset)) {
    const uint64_t end = directory_offset + directory_size;
    Put32(kEndOfArchive64, out);
    Put64(44, out);  // what follows of this record
    Put16(kVersion, out);
    Put16(kVersion, out);
    Put64(0, out);  // the first disk, twice
    Put64(entries_.size(), out);
    Put64(entries_.size(), out);
    Put64(directory_size, out);
    Put64(directory_offset, out);
    Put32(kLocator64, out);
    Put32(0, out);
    Put64(end, out);
    Put32(1, out);
  }
  Put32(kEndOfArchive, out);
  Put32(0, out);
  Put16(static_cast<uint32_t>(entries_.size()), out);
  Put16(static_cast<uint32_t>(entries_.size()), out);
  Put32(static_cast<uint32_t>(directory_size), out);
  Put32(Short(directory_offset), out);
  Put16(0, out);
}

std::string NpzWriter::Finish() const {
  std::string directory;
  for (const Entry& entry : entries_) PutCentralHeader(entry, &directory);
  std::string end;
  PutEnd(archive_.size(), directory.size(), &end);
  return archive_ + directory + end;
}

}  // namespace gmlake
