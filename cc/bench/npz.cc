#include "cc/bench/npz.h"

#include <zlib.h>

#include <cstring>
#include <fstream>
#include <iterator>
#include <string_view>
#include <utility>

namespace gmlake::bench {
namespace {

Status Broken(const std::string& what) { return Status(StatusCode::kInvalidArgument, what); }

// A little-endian number at `offset`, or 0 beyond the end: callers check what they read against the file.
template <typename T>
T ReadAt(std::string_view bytes, size_t offset) {
  T value = 0;
  if (offset + sizeof(T) <= bytes.size()) std::memcpy(&value, bytes.data() + offset, sizeof(T));
  return value;
}

// --- zip

struct Member {
  std::string name;
  uint16_t method;
  uint32_t compressed;
  uint32_t size;
  uint32_t header;  // offset of the local header
};

constexpr uint32_t kEndSignature = 0x06054b50, kMemberSignature = 0x02014b50, kLocalSignature = 0x04034b50;
constexpr size_t kEndSize = 22, kMemberSize = 46, kLocalSize = 30;

StatusOr<std::vector<Member>> ReadDirectory(std::string_view file) {
  const size_t end = file.rfind(std::string_view("PK\x05\x06", 4));
  if (file.size() < kEndSize || end == std::string_view::npos || end + kEndSize > file.size()) {
    return Broken("not a zip archive, or truncated");
  }
  std::vector<Member> members(ReadAt<uint16_t>(file, end + 10));
  size_t at = ReadAt<uint32_t>(file, end + 16);
  for (Member& member : members) {
    const size_t name_size = ReadAt<uint16_t>(file, at + 28);
    if (ReadAt<uint32_t>(file, at) != kMemberSignature || at + kMemberSize + name_size > file.size()) {
      return Broken("damaged zip directory");
    }
    member = {std::string(file.substr(at + kMemberSize, name_size)), ReadAt<uint16_t>(file, at + 10),
              ReadAt<uint32_t>(file, at + 20), ReadAt<uint32_t>(file, at + 24), ReadAt<uint32_t>(file, at + 42)};
    at += kMemberSize + name_size + ReadAt<uint16_t>(file, at + 30) + ReadAt<uint16_t>(file, at + 32);
  }
  return members;
}

StatusOr<std::string> Inflate(std::string_view packed, size_t size) {
  std::string bytes(size, '\0');
  z_stream stream = {};
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(packed.data()));
  stream.avail_in = static_cast<uInt>(packed.size());
  stream.next_out = reinterpret_cast<Bytef*>(bytes.data());
  stream.avail_out = static_cast<uInt>(size);
  if (inflateInit2(&stream, -MAX_WBITS) != Z_OK) return Broken("zlib refuses to start");
  const int result = inflate(&stream, Z_FINISH);
  inflateEnd(&stream);
  if (result != Z_STREAM_END || stream.total_out != size) return Broken("damaged zip member");
  return bytes;
}

StatusOr<std::string> ReadMember(std::string_view file, const Member& member) {
  const size_t data = member.header + kLocalSize + ReadAt<uint16_t>(file, member.header + 26) +
                      ReadAt<uint16_t>(file, member.header + 28);
  if (ReadAt<uint32_t>(file, member.header) != kLocalSignature || data + member.compressed > file.size()) {
    return Broken("damaged zip member");
  }
  const std::string_view packed = file.substr(data, member.compressed);
  if (member.method == 0) return std::string(packed);
  if (member.method == 8) return Inflate(packed, member.size);
  return Broken("zip method " + std::to_string(member.method) + " is not read");
}

// --- npy

template <typename T>
std::vector<int64_t> Widen(std::string_view data) {
  std::vector<int64_t> values;
  values.reserve(data.size() / sizeof(T));
  for (size_t at = 0; at + sizeof(T) <= data.size(); at += sizeof(T)) values.push_back(ReadAt<T>(data, at));
  return values;
}

StatusOr<std::vector<int64_t>> ReadValues(std::string_view header, std::string_view data) {
  const auto is = [header](const char* type) { return header.find(type) != std::string_view::npos; };
  if (is("'|i1'")) return Widen<int8_t>(data);
  if (is("'|u1'")) return Widen<uint8_t>(data);
  if (is("'<i2'")) return Widen<int16_t>(data);
  if (is("'<u2'")) return Widen<uint16_t>(data);
  if (is("'<i4'")) return Widen<int32_t>(data);
  if (is("'<u4'")) return Widen<uint32_t>(data);
  if (is("'<i8'")) return Widen<int64_t>(data);
  return Broken("not an array of little-endian integers");
}

StatusOr<std::vector<int64_t>> ReadNpy(std::string_view npy) {
  if (npy.substr(0, 6) != std::string_view("\x93NUMPY", 6)) return Broken("not a NumPy array");
  const bool is_first_version = ReadAt<uint8_t>(npy, 6) == 1;
  const size_t start = is_first_version ? 10 : 12;
  const size_t size = is_first_version ? ReadAt<uint16_t>(npy, 8) : ReadAt<uint32_t>(npy, 8);
  if (start + size > npy.size()) return Broken("truncated NumPy array");
  return ReadValues(npy.substr(start, size), npy.substr(start + size));
}

StatusOr<IntegerArrays> ReadArrays(std::string_view file) {
  const auto members = ReadDirectory(file);
  if (!members.ok()) return members.status();
  IntegerArrays arrays;
  for (const Member& member : *members) {
    const auto bytes = ReadMember(file, member);
    if (!bytes.ok()) return bytes.status();
    auto values = ReadNpy(*bytes);
    if (!values.ok()) return Broken(member.name + ": " + values.status().message());
    arrays.emplace(member.name.substr(0, member.name.rfind(".npy")), *std::move(values));
  }
  return arrays;
}

}  // namespace

StatusOr<IntegerArrays> ReadNpz(const std::string& path) {
  std::ifstream stream(path, std::ios::binary);
  if (!stream) return Broken(path + ": cannot be read");
  const std::string file((std::istreambuf_iterator<char>(stream)), std::istreambuf_iterator<char>());
  auto arrays = ReadArrays(file);
  if (!arrays.ok()) return Broken(path + ": " + arrays.status().message());
  return arrays;
}

}  // namespace gmlake::bench
