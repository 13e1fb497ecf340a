#include "cc/emulator/modules/cubin.h"

#include <elf.h>

#include <cstring>

namespace gmlake::emulator {
namespace {

constexpr uint32_t kFatBinaryMagic = 0xBA55ED50;

// Attributes of .nv.info sections: one byte of format, one of kind, then a value or its length.
constexpr uint8_t kSizedFormat = 4;
constexpr uint8_t kParameterKind = 0x17;
constexpr size_t kParameterBytes = 12;

bool StartsWith(const char* text, const char* prefix) { return std::strncmp(text, prefix, std::strlen(prefix)) == 0; }

// An ELF file in memory. Images come from the compiler inside the process, so they are taken to be well formed.
class Elf {
 public:
  explicit Elf(const char* image)
      : image_(image),
        header_(reinterpret_cast<const Elf64_Ehdr*>(image)),
        sections_(reinterpret_cast<const Elf64_Shdr*>(image + header_->e_shoff)) {}

  int num_sections() const { return header_->e_shnum; }
  const Elf64_Shdr& section(int i) const { return sections_[i]; }
  const char* data(const Elf64_Shdr& section) const { return image_ + section.sh_offset; }
  const char* name(const Elf64_Shdr& section) const { return data(sections_[header_->e_shstrndx]) + section.sh_name; }

 private:
  const char* image_;
  const Elf64_Ehdr* header_;
  const Elf64_Shdr* sections_;
};

// Parameter attributes hold three words: an index, ordinal | offset << 16, and flags | size << 18.
std::vector<Parameter> ReadParameters(const char* at, size_t size) {
  std::map<unsigned, Parameter> by_ordinal;
  for (const char* const end = at + size; at + 4 <= end;) {
    const auto* const bytes = reinterpret_cast<const uint8_t*>(at);
    const size_t length = bytes[0] == kSizedFormat ? bytes[2] | bytes[3] << 8 : 0;
    if (bytes[0] == kSizedFormat && bytes[1] == kParameterKind && length >= kParameterBytes) {
      uint32_t words[3];
      std::memcpy(words, at + 4, sizeof words);
      by_ordinal[words[1] & 0xffff] = {words[1] >> 16, words[2] >> 18};
    }
    at += 4 + length;
  }
  std::vector<Parameter> parameters;
  for (const auto& [ordinal, parameter] : by_ordinal) parameters.push_back(parameter);
  return parameters;
}

void ReadKernels(const Elf& elf, Cubin* cubin) {
  for (int i = 0; i < elf.num_sections(); ++i) {
    const Elf64_Shdr& section = elf.section(i);
    const char* const name = elf.name(section);
    if (StartsWith(name, ".text.")) cubin->kernels[name + 6];
    if (StartsWith(name, ".nv.info.")) {
      cubin->kernels[name + 9].parameters = ReadParameters(elf.data(section), section.sh_size);
    }
    if (StartsWith(name, ".nv.shared.") && !StartsWith(name, ".nv.shared.reserved")) {
      cubin->kernels[name + 11].shared_bytes = section.sh_size;
    }
  }
}

bool HoldsGlobals(const char* section) {
  return StartsWith(section, ".nv.global") || StartsWith(section, ".nv.constant3") ||
         StartsWith(section, ".nv.constant4");
}

void ReadGlobal(const Elf& elf, const Elf64_Sym& symbol, const char* name, Cubin* cubin) {
  if (ELF64_ST_TYPE(symbol.st_info) != STT_OBJECT || symbol.st_size == 0) return;
  if (symbol.st_shndx >= elf.num_sections()) return;
  const Elf64_Shdr& section = elf.section(symbol.st_shndx);
  if (!HoldsGlobals(elf.name(section))) return;
  std::vector<char>& bytes = cubin->globals[name];
  bytes.assign(symbol.st_size, 0);
  if (section.sh_type == SHT_NOBITS) return;
  std::memcpy(bytes.data(), elf.data(section) + symbol.st_value, symbol.st_size);
}

void ReadGlobals(const Elf& elf, Cubin* cubin) {
  for (int i = 0; i < elf.num_sections(); ++i) {
    const Elf64_Shdr& table = elf.section(i);
    if (table.sh_type != SHT_SYMTAB) continue;
    const char* const names = elf.data(elf.section(static_cast<int>(table.sh_link)));
    for (size_t k = 0; k < table.sh_size / sizeof(Elf64_Sym); ++k) {
      Elf64_Sym symbol;  // copied: in a file it may lie at an odd address
      std::memcpy(&symbol, elf.data(table) + k * sizeof symbol, sizeof symbol);
      ReadGlobal(elf, symbol, names + symbol.st_name, cubin);
    }
  }
}

// The first ELF file inside a fat binary; null if there is none.
const char* FindElf(const char* image) {
  if (std::memcmp(image, ELFMAG, SELFMAG) == 0) return image;
  uint32_t magic = 0;
  std::memcpy(&magic, image, sizeof magic);
  if (magic != kFatBinaryMagic) return nullptr;
  uint64_t size = 0;
  std::memcpy(&size, image + 8, sizeof size);
  for (size_t i = 0; i + sizeof(Elf64_Ehdr) < size + 16; i += 8) {
    if (std::memcmp(image + i, ELFMAG, SELFMAG) == 0) return image + i;
  }
  return nullptr;
}

}  // namespace

bool ReadCubin(const void* image, Cubin* cubin) {
  const char* const found = FindElf(static_cast<const char*>(image));
  if (found == nullptr) return false;
  const Elf elf(found);
  ReadKernels(elf, cubin);
  ReadGlobals(elf, cubin);
  return true;
}

}  // namespace gmlake::emulator
