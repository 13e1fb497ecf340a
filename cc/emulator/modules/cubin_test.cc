// A cubin made by hand: one kernel with two parameters and shared memory, one global with a value, one without.
#include "cc/emulator/modules/cubin.h"

#include <elf.h>
#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

namespace gmlake::emulator {
namespace {

// Lays sections out behind the header and the section table.
class ElfWriter {
 public:
  // Returns the section's number.
  int Add(const std::string& name, uint32_t type, const std::string& bytes, uint32_t link = 0) {
    Elf64_Shdr section{};
    section.sh_name = static_cast<uint32_t>(names_.size());
    section.sh_type = type;
    section.sh_size = bytes.size();
    section.sh_link = link;
    names_ += name + '\0';
    sections_.push_back(section);
    contents_.push_back(bytes);
    return static_cast<int>(sections_.size()) - 1;
  }

  std::string Write() {
    const int names = Add(".shstrtab", SHT_STRTAB, "");
    contents_[names] = names_;
    sections_[names].sh_size = names_.size();
    Elf64_Ehdr header{};
    std::memcpy(header.e_ident, ELFMAG, SELFMAG);
    header.e_shoff = sizeof header;
    header.e_shnum = static_cast<uint16_t>(sections_.size());
    header.e_shstrndx = static_cast<uint16_t>(names);
    uint64_t offset = sizeof header + sections_.size() * sizeof(Elf64_Shdr);
    std::string body;
    for (size_t i = 0; i < sections_.size(); ++i) {
      sections_[i].sh_offset = offset + body.size();
      body += contents_[i];
    }
    std::string table(reinterpret_cast<const char*>(sections_.data()), sections_.size() * sizeof(Elf64_Shdr));
    return std::string(reinterpret_cast<const char*>(&header), sizeof header) + table + body;
  }

 private:
  std::string names_ = std::string(1, '\0');
  std::vector<Elf64_Shdr> sections_{Elf64_Shdr{}};
  std::vector<std::string> contents_{""};
};

std::string Word(uint32_t value) { return std::string(reinterpret_cast<const char*>(&value), sizeof value); }

std::string ParameterRecord(unsigned ordinal, unsigned offset, unsigned size) {
  return std::string("\x04\x17\x0c\x00", 4) + Word(0) + Word(ordinal | offset << 16) + Word(size << 18);
}

std::string Symbol(unsigned name, int section, uint64_t value, uint64_t size) {
  Elf64_Sym symbol{};
  symbol.st_name = name;
  symbol.st_info = ELF64_ST_INFO(STB_GLOBAL, STT_OBJECT);
  symbol.st_shndx = static_cast<uint16_t>(section);
  symbol.st_value = value;
  symbol.st_size = size;
  return std::string(reinterpret_cast<const char*>(&symbol), sizeof symbol);
}

std::string SampleCubin() {
  ElfWriter elf;
  elf.Add(".text.my_kernel", SHT_PROGBITS, "code");
  elf.Add(".nv.info.my_kernel", SHT_PROGBITS,
          std::string("\x03\x1b\xff\x00", 4) + ParameterRecord(1, 8, 24) + ParameterRecord(0, 0, 8));
  elf.Add(".nv.shared.my_kernel", SHT_NOBITS, std::string(96, '\0'));
  const int constants = elf.Add(".nv.constant4", SHT_PROGBITS, "skipVALUE");
  const int zeros = elf.Add(".nv.global", SHT_NOBITS, "");
  const int names = elf.Add(".strtab", SHT_STRTAB, std::string("\0table\0buffer\0", 14));
  elf.Add(".symtab", SHT_SYMTAB, Symbol(1, constants, 4, 5) + Symbol(7, zeros, 0, 16), names);
  return elf.Write();
}

TEST(CubinTest, FindsKernelsWithTheirParameters) {
  Cubin cubin;
  ASSERT_TRUE(ReadCubin(SampleCubin().data(), &cubin));
  ASSERT_EQ(cubin.kernels.size(), 1u);
  const KernelInfo& kernel = cubin.kernels.at("my_kernel");
  ASSERT_EQ(kernel.parameters.size(), 2u);
  EXPECT_EQ(kernel.parameters[0].size, 8u);
  EXPECT_EQ(kernel.parameters[1].offset, 8u);
  EXPECT_EQ(kernel.parameters[1].size, 24u);
  EXPECT_EQ(kernel.shared_bytes, 96u);
}

TEST(CubinTest, FindsGlobalsWithTheirFirstValues) {
  Cubin cubin;
  ASSERT_TRUE(ReadCubin(SampleCubin().data(), &cubin));
  EXPECT_EQ(cubin.globals.at("table"), (std::vector<char>{'V', 'A', 'L', 'U', 'E'}));
  EXPECT_EQ(cubin.globals.at("buffer"), std::vector<char>(16, 0));
}

TEST(CubinTest, LooksIntoFatBinaries) {
  const std::string cubin = SampleCubin();
  const uint64_t size = 24 + cubin.size();
  std::string fat = Word(0xBA55ED50) + Word(1) + std::string(reinterpret_cast<const char*>(&size), 8);
  fat += std::string(24, '\x01') + cubin;
  Cubin found;
  ASSERT_TRUE(ReadCubin(fat.data(), &found));
  EXPECT_EQ(found.kernels.count("my_kernel"), 1u);
}

TEST(CubinTest, TextIsNoCubin) {
  Cubin cubin;
  EXPECT_FALSE(ReadCubin(".version 8.0\n.target sm_90\n", &cubin));
}

}  // namespace
}  // namespace gmlake::emulator
