// Finds the slot in which a loaded library keeps the address of an imported function, and replaces the address.
//
// A library calls an imported function through a slot of its global offset table (GOT), which the dynamic linker fills
// in. Overwriting that slot redirects the calls of this one library and of nobody else; that is the whole trick.
// Works on x86-64 and aarch64. Knows nothing of CUDA or of what is redirected.
#ifndef GMLAKE_PJRT_PATCH_ELF_GOT_H_
#define GMLAKE_PJRT_PATCH_ELF_GOT_H_

#include <link.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "cc/base/status.h"

namespace gmlake {

// A library in memory: where it was loaded, how far it extends, its dynamic section, and for which machine it was
// built.
struct ElfImage {
  uintptr_t base = 0;
  size_t size = 0;
  const ElfW(Dyn) * dynamic = nullptr;
  int machine = 0;  // EM_X86_64 or EM_AARCH64
};

// The image behind a handle of dlopen.
StatusOr<ElfImage> ImageOf(void* library);

// Every slot through which `image` reaches the imported function `symbol`; empty if it does not import it.
std::vector<void**> FindGotSlots(const ElfImage& image, const std::string& symbol);

// Writes `replacement` into every slot, on read-only pages too, whose protection is then as before. Each slot must hold
// `expected`, or point into `image` itself (a stub that the linker has not resolved yet); otherwise somebody else was
// there first, and nothing is written to any slot.
Status PatchGotSlots(const ElfImage& image, const std::vector<void**>& slots, void* expected, void* replacement);

}  // namespace gmlake

#endif  // GMLAKE_PJRT_PATCH_ELF_GOT_H_
