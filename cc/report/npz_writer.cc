#include "cc/report/npz_writer.h"

#include <array>

namespace gmlake {
namespace {

constexpr uint32_t kLocalHeader = 0x04034b50;
constexpr uint32_t kCentralHeader = 0x02014b50;
constexpr uint32_t kEndOfArchive = 0x06054b50;
constexpr uint32_t kFirstDay = 0x00210000;  // 1980-01-01, 0:00

void Put16(uint32_t value, std::string* out) {
  for (int shift = 0; shift < 16; shift += 8) out->push_back(static_cast<char>(value >> shift));
}

void Put32(uint32_t value, std::string* out) {
  for (int shift = 0; shift < 32; shift += 8) out->push_back(static_cast<char>(value >> shift));
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

// What both headers of an entry say of it: version, flags, method, time, sizes.
void PutFacts(uint32_t crc, uint32_t size, size_t name_size, std::string* out) {
  Put16(20, out);  // the version of zip that is needed
  Put16(0, out);
  Put16(0, out);  // stored
  Put32(kFirstDay, out);
  Put32(crc, out);
  Put32(size, out);
  Put32(size, out);
  Put16(static_cast<uint32_t>(name_size), out);
  Put16(0, out);
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
  const Entry entry{name + ".npy", Crc(content), static_cast<uint32_t>(content.size()),
                    static_cast<uint32_t>(archive_.size())};
  Put32(kLocalHeader, &archive_);
  PutFacts(entry.crc, entry.size, entry.name.size(), &archive_);
  archive_ += entry.name + content;
  entries_.push_back(entry);
}

std::string NpzWriter::Finish() const {
  std::string directory;
  for (const Entry& entry : entries_) {
    Put32(kCentralHeader, &directory);
    Put16(20, &directory);  // the version of zip that wrote it
    PutFacts(entry.crc, entry.size, entry.name.size(), &directory);
    directory.append(10, '\0');  // no comment, first disk, no attributes
    Put32(entry.offset, &directory);
    directory += entry.name;
  }
  std::string end;
  Put32(kEndOfArchive, &end);
  Put32(0, &end);
  Put16(static_cast<uint32_t>(entries_.size()), &end);
  Put16(static_cast<uint32_t>(entries_.size()), &end);
  Put32(static_cast<uint32_t>(directory.size()), &end);
  Put32(static_cast<uint32_t>(archive_.size()), &end);
  Put16(0, &end);
  return archive_ + directory + end;
}

}  // namespace gmlake
