// A library image built in memory, for x86-64 or aarch64, so that either machine tests both.
#ifndef GMLAKE_PJRT_TESTING_SYNTHETIC_IMAGE_H_
#define GMLAKE_PJRT_TESTING_SYNTHETIC_IMAGE_H_

#include <elf.h>
#include <link.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <string>

#include "cc/pjrt/patch/elf_got.h"

namespace gmlake {

// Two pages: the first holds the tables, the second the slots. Imports are added one by one; Finish fixes the tables.
class SyntheticImage {
 public:
  explicit SyntheticImage(int machine, bool relative_tables = false)
      : machine_(machine), relative_tables_(relative_tables), page_(sysconf(_SC_PAGESIZE)) {
    void* memory = mmap(nullptr, 2 * page_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    base_ = static_cast<char*>(memory);
  }
  ~SyntheticImage() { munmap(base_, 2 * page_); }

  // An import of `name` by a relocation of `type`; `in_jump_table` says in which of the two tables it stands.
  void** Import(const std::string& name, uint32_t type, bool in_jump_table, void* content) {
    void** slot = reinterpret_cast<void**>(base_ + page_) + slots_++;
    *slot = content;
    ElfW(Rela)* table = in_jump_table ? JumpTable() + jump_count_++ : DataTable() + data_count_++;
    table->r_offset = reinterpret_cast<char*>(slot) - base_;
    table->r_info = ELF64_R_INFO(static_cast<uint64_t>(AddSymbol(name)), type);
    return slot;
  }

  ElfImage Finish() {
    ElfW(Dyn)* entry = Dynamic();
    *entry++ = {DT_SYMTAB, {TableAddress(Symbols())}};
    *entry++ = {DT_STRTAB, {TableAddress(Strings())}};
    *entry++ = {DT_JMPREL, {TableAddress(JumpTable())}};
    *entry++ = {DT_PLTRELSZ, {jump_count_ * sizeof(ElfW(Rela))}};
    *entry++ = {DT_RELA, {TableAddress(DataTable())}};
    *entry++ = {DT_RELASZ, {data_count_ * sizeof(ElfW(Rela))}};
    *entry = {DT_NULL, {0}};
    return ElfImage{reinterpret_cast<uintptr_t>(base_), 2 * page_, Dynamic(), machine_};
  }

  void MakeSlotsReadOnly() { mprotect(base_ + page_, page_, PROT_READ); }
  // An address inside the image, as an unresolved lazy slot holds.
  void* Stub() { return base_ + 8; }

 private:
  static constexpr size_t kArea = 512;

  ElfW(Dyn) * Dynamic() { return reinterpret_cast<ElfW(Dyn)*>(base_ + kArea); }
  ElfW(Sym) * Symbols() { return reinterpret_cast<ElfW(Sym)*>(base_ + 2 * kArea); }
  char* Strings() { return base_ + 3 * kArea; }
  ElfW(Rela) * JumpTable() { return reinterpret_cast<ElfW(Rela)*>(base_ + 4 * kArea); }
  ElfW(Rela) * DataTable() { return reinterpret_cast<ElfW(Rela)*>(base_ + 5 * kArea); }

  uint64_t TableAddress(const void* table) const {
    const uint64_t address = reinterpret_cast<uint64_t>(table);
    return relative_tables_ ? address - reinterpret_cast<uint64_t>(base_) : address;
  }

  uint32_t AddSymbol(const std::string& name) {
    const uint32_t index = ++symbols_;  // symbol 0 is reserved
    Symbols()[index].st_name = ++string_bytes_;
    std::memcpy(Strings() + string_bytes_, name.c_str(), name.size() + 1);
    string_bytes_ += name.size();
    return index;
  }

  const int machine_;
  const bool relative_tables_;
  const size_t page_;
  char* base_ = nullptr;
  size_t slots_ = 0;
  size_t jump_count_ = 0;
  size_t data_count_ = 0;
  uint32_t symbols_ = 0;
  uint32_t string_bytes_ = 0;
};

}  // namespace gmlake

#endif  // GMLAKE_PJRT_TESTING_SYNTHETIC_IMAGE_H_
