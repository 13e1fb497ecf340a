#include "cc/pjrt/patch/elf_got.h"

#include <dlfcn.h>
#include <elf.h>

#include <algorithm>
#include <cstdio>

#include "cc/pjrt/patch/page_protection.h"

namespace gmlake {
namespace {

#if defined(__x86_64__)
constexpr int kHostMachine = EM_X86_64;
#elif defined(__aarch64__)
constexpr int kHostMachine = EM_AARCH64;
#else
#error "gmlake knows the relocations of x86-64 and aarch64 only"
#endif

struct RelocationTable {
  const ElfW(Rela) * first = nullptr;
  size_t size_bytes = 0;
};

// What of the dynamic section is needed to name the imports.
struct DynamicTables {
  const ElfW(Sym) * symbols = nullptr;
  const char* strings = nullptr;
  RelocationTable jump_slots;  // DT_JMPREL
  RelocationTable data;        // DT_RELA
};

// glibc leaves absolute addresses in the dynamic section, some other linkers offsets from the base.
template <typename T>
const T* Pointer(const ElfImage& image, const ElfW(Dyn) & entry) {
  const uintptr_t value = entry.d_un.d_ptr;
  return reinterpret_cast<const T*>(value < image.base ? image.base + value : value);
}

void ReadEntry(const ElfImage& image, const ElfW(Dyn) & entry, DynamicTables* tables) {
  switch (entry.d_tag) {
    case DT_SYMTAB: tables->symbols = Pointer<ElfW(Sym)>(image, entry); break;
    case DT_STRTAB: tables->strings = Pointer<char>(image, entry); break;
    case DT_JMPREL: tables->jump_slots.first = Pointer<ElfW(Rela)>(image, entry); break;
    case DT_PLTRELSZ: tables->jump_slots.size_bytes = entry.d_un.d_val; break;
    case DT_RELA: tables->data.first = Pointer<ElfW(Rela)>(image, entry); break;
    case DT_RELASZ: tables->data.size_bytes = entry.d_un.d_val; break;
    default: break;
  }
}

DynamicTables ReadDynamicSection(const ElfImage& image) {
  DynamicTables tables;
  for (const ElfW(Dyn)* entry = image.dynamic; entry->d_tag != DT_NULL; ++entry) {
    ReadEntry(image, *entry, &tables);
  }
  return tables;
}

bool IsFunctionSlot(int machine, uint32_t type) {
  if (machine == EM_X86_64) return type == R_X86_64_JUMP_SLOT || type == R_X86_64_GLOB_DAT;
  if (machine == EM_AARCH64) return type == R_AARCH64_JUMP_SLOT || type == R_AARCH64_GLOB_DAT;
  return false;
}

void CollectSlots(const ElfImage& image, const DynamicTables& tables, const RelocationTable& table,
                  const std::string& symbol, std::vector<void**>* slots) {
  if (table.first == nullptr) return;
  const size_t count = table.size_bytes / sizeof(ElfW(Rela));
  for (size_t i = 0; i < count; ++i) {
    const ElfW(Rela) & relocation = table.first[i];
    if (!IsFunctionSlot(image.machine, ELF64_R_TYPE(relocation.r_info))) continue;
    const ElfW(Sym) & imported = tables.symbols[ELF64_R_SYM(relocation.r_info)];
    if (symbol != tables.strings + imported.st_name) continue;
    slots->push_back(reinterpret_cast<void**>(image.base + relocation.r_offset));
  }
}

bool IsInside(const ElfImage& image, const void* pointer) {
  return reinterpret_cast<uintptr_t>(pointer) - image.base < image.size;
}

std::string Hex(const void* pointer) {
  char text[32];
  std::snprintf(text, sizeof(text), "%p", pointer);
  return text;
}

Status CheckSlots(const ElfImage& image, const std::vector<void**>& slots, const void* expected) {
  for (void** slot : slots) {
    if (*slot == expected || IsInside(image, *slot)) continue;
    return Status(StatusCode::kFailedPrecondition, "slot " + Hex(slot) + " holds " + Hex(*slot) + " instead of " +
                                                       Hex(expected) + ": another tool has redirected it already");
  }
  return OkStatus();
}

// dl_iterate_phdr's visitor: the end of the library whose base is `image->base`.
int ReadExtent(dl_phdr_info* info, size_t, void* data) {
  ElfImage* image = static_cast<ElfImage*>(data);
  if (info->dlpi_addr != image->base) return 0;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr) & segment = info->dlpi_phdr[i];
    if (segment.p_type != PT_LOAD) continue;
    image->size = std::max<size_t>(image->size, segment.p_vaddr + segment.p_memsz);
  }
  return 1;
}

}  // namespace

StatusOr<ElfImage> ImageOf(void* library) {
  link_map* map = nullptr;
  if (dlinfo(library, RTLD_DI_LINKMAP, &map) != 0 || map == nullptr) {
    return Status(StatusCode::kInvalidArgument, "the dynamic linker does not know this library");
  }
  ElfImage image{map->l_addr, 0, map->l_ld, kHostMachine};
  dl_iterate_phdr(&ReadExtent, &image);
  return image;
}

std::vector<void**> FindGotSlots(const ElfImage& image, const std::string& symbol) {
  const DynamicTables tables = ReadDynamicSection(image);
  std::vector<void**> slots;
  if (tables.symbols == nullptr || tables.strings == nullptr) return slots;
  CollectSlots(image, tables, tables.jump_slots, symbol, &slots);
  CollectSlots(image, tables, tables.data, symbol, &slots);
  return slots;
}

Status PatchGotSlots(const ElfImage& image, const std::vector<void**>& slots, void* expected, void* replacement) {
  GMLAKE_RETURN_IF_ERROR(CheckSlots(image, slots, expected));
  for (size_t done = 0; done < slots.size(); ++done) {
    const Status written = Overwrite(slots[done], replacement);
    if (written.ok()) continue;
    for (size_t i = 0; i < done; ++i) Overwrite(slots[i], expected).IgnoreError();
    return written;
  }
  return OkStatus();
}

}  // namespace gmlake
